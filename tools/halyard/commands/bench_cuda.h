// `halyard bench --device cuda --model GPU`: calls on the PTX machine, and how long the model of
// time says that a GPU would take for them.
#pragma once
#include <string>
#include <vector>

namespace halyard::command {

// Prints a line for each problem. Returns false if a result violates the op's contract, or if the
// machine found something. Throws AttrError for a GPU without a profile, DispatchError for dtypes
// without a kernel.
bool bench_cuda(const std::string &op, const std::vector<std::string> &problems,
                const std::string &dtype, const std::string &gpu);

}  // namespace halyard::command
