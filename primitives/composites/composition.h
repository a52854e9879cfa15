// What compositions are written with, and the families they come in: each in a file of its own,
// joined by primitives/composites/composite.cpp.
#pragma once
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "primitives/primitive.h"

namespace halyard {

using Tensors = std::span<const Tensor>;
using Result = std::vector<Tensor>;

// An attribute of a call by its name, which the record has.
inline int64_t integer(const Attrs &a, const char *name) {
    return a.integer(size_t(a.find(name)));
}
inline double real(const Attrs &a, const char *name) {
    return a.real(size_t(a.find(name)));
}
inline const Ints &ints(const Attrs &a, const char *name) {
    return a.ints(size_t(a.find(name)));
}
inline bool is_set(const Attrs &a, const char *flag) {
    return integer(a, flag) != 0;
}
inline const std::string &choice(const Attrs &a, const char *name) {
    const size_t k = size_t(a.find(name));
    return a.op().attrs[k].choices[size_t(a.integer(k))];
}

using Family = std::span<const std::pair<const char *, Composition>>;  // ops by name

Family attention_family();
Family contraction_family();
Family convolution_family();
Family creation_family();
Family indexing_family();
Family loss_family();
Family low_precision_family();
Family norm_family();
Family pool_family();
Family random_family();
Family recurrent_family();
Family resize_family();
Family scatter_family();
Family sorting_family();
Family statistics_family();
Family tensor_format_family();
Family update_family();
Family views_family();
Family windows_family();

}  // namespace halyard
