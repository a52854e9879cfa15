// The C++ that the generator writes: records as data, and the functions that call each op.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "registry/op/op_record.h"

namespace halyard {

// A source file defining `const OpFile op_file_<file>` of a `family` of ops. Where `generator` is
// the path of a program, that program makes each kernel when it is first called
// (registry/dispatch/kernel_on_demand.h); where it is empty, the kernels are linked. `symbol` is a
// kernel's name, without the suffix _argv of its function.
std::string records_source(const std::string &file, const std::string &family,
                           const std::vector<OpRecord> &ops,
                           const std::vector<KernelEntry> &kernels,
                           const std::function<std::string(const KernelEntry &)> &symbol,
                           const std::string &generator);

// Returns the header of an op file: `class ops::Softmax` and `F::softmax` for every public op, and
// `kernel::softmax_dx` for every internal one.
std::string face_source(const std::vector<OpRecord> &ops);

}  // namespace halyard
