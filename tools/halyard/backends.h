// Backends: where an op runs, in which dtypes, and why not in the others.
#pragma once
#include <string>
#include <vector>

#include "tools/halyard/op_info.h"

namespace halyard::command {

struct Backend {
    std::string name;                 // "cpu", "opencl", "ascend"
    std::vector<std::string> dtypes;  // as the op's record writes them: "f32", "f32,i32"
    // of the record's other dtypes, and of calls that have no program: a reason each
    std::vector<std::string> why_not;
    bool not_all_calls = false;  // some calls in `dtypes` have no program
};

// Always the same three, in this order. A composite op has no kernels: its dtypes are those that
// its record allows, and where it runs is up to the ops that it calls, so that the other two lists
// are empty and `why_not` says so.
std::vector<Backend> backends_of(const OpInfo &op);

}  // namespace halyard::command
