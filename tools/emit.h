// What the generator writes as C++: records as data, and the two faces of each primitive.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "registry/op_record.h"

namespace halyard {

// A source file defining `const OpFile op_file_<file>`.
std::string records_source(const std::string &file, const std::vector<OpRecord> &ops, const std::vector<KernelEntry> &kernels,
                           const std::function<std::string(const KernelEntry &)> &symbol);

// `class ops::Softmax` and `F::softmax` for every op that isn't internal.
std::string face_source(const std::vector<OpRecord> &ops);

}  // namespace halyard
