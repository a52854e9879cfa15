// Example: a call of an op with tensors that fit, as C++ and as command lines that make everything
// they need.
#pragma once
#include <string>

#include "tools/halyard/op_info.h"

namespace halyard::command {

struct Example {
    std::string cpp;    // statements; `using namespace halyard` and primitives/ops.h are given
    std::string shell;  // lines
};
Example example_of(const OpInfo &op);

// "ShapeError: [softmax] x has rank 0, ...": what wrong calls are told, one line each.
std::vector<std::string> refusals_of(const OpInfo &op);

}  // namespace halyard::command
