// Example: a call of an op with suitable tensors, as C++ and as a complete list of command lines.
#pragma once
#include <string>

#include "tools/halyard/op_info.h"

namespace halyard::command {

struct Example {
    std::string cpp;    // statements; `using namespace halyard` and primitives/ops.h are given
    std::string shell;  // lines
};
// Returns an example from one of the op's samples.
Example example_of(const OpInfo &op);

// Returns the messages of wrong calls, one line each: "ShapeError: [softmax] x has rank 0, ...".
std::vector<std::string> refusals_of(const OpInfo &op);

}  // namespace halyard::command
