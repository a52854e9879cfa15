// Backends: where an op runs, in which dtypes, and why not in the others.
#pragma once
#include <string>
#include <vector>

#include "tools/halyard/op_info.h"

namespace halyard::command {

struct Backend {
    std::string name;                 // "cpu", "opencl", "ascend"
    std::vector<std::string> dtypes;  // as the op's record writes them: "f32", "f32,i32"
    // The reasons for each of the record's other dtypes, and for calls that have no program.
    std::vector<std::string> why_not;
    bool not_all_calls = false;  // some calls in `dtypes` have no program
};

// Returns the three backends, always in this order. A composite op has no kernels: its dtypes are
// those of its record, and where it runs depends on the ops that it calls. Its other two lists are
// empty, and `why_not` has that reason.
std::vector<Backend> backends_of(const OpInfo &op);

// A set of dtypes that an op has a CPU kernel for and none for a device.
struct MissingKernel {
    std::string dtypes;
    std::string why;  // empty if no reason is known
};

// Returns them in the order of the record. `device` is "opencl" or "cuda". This build's kernels are
// those of OpenCL. Kernels for CUDA are made when a check asks for them; here they are scheduled.
std::vector<MissingKernel> missing_kernels(const OpInfo &op, const std::string &device);

}  // namespace halyard::command
