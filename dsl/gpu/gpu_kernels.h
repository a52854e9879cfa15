// The kernels that are built for GPUs: those of an op's last variant, which takes every shape.
#pragma once
#include <string>

#include "dsl/op.h"

namespace halyard::gpu {

// Returns the reason why no kernel of these dtypes is built; empty if one is.
std::string no_kernel_reason(const Op &op, const std::string &dtypes);
inline bool has_kernel(const Op &op, const std::string &dtypes) {
    return no_kernel_reason(op, dtypes).empty();
}

inline const std::string &variant(const Op &op) {
    return op.variants.back().name;
}

}  // namespace halyard::gpu
