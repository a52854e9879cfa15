// `halyard bench --device cuda --model GPU`: calls on the PTX machine, and how long the model of
// time says that a GPU would take for them.
#pragma once
#include <string>
#include <vector>

namespace halyard::command {

// Prints a line for each problem and each of the op's variants on a GPU, best first, or for the
// named variant. Returns false if a result violates the op's contract, or if the machine found
// something. Throws AttrError for a GPU without a profile or an unknown variant, DispatchError for
// dtypes without a kernel.
bool bench_cuda(const std::string &op, const std::vector<std::string> &problems,
                const std::string &dtype, const std::string &variant, const std::string &gpu);

}  // namespace halyard::command
