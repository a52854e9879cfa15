// The kernels that are built for GPUs: one of each of an op's variants for GPUs, or of the last of
// its others, which takes every shape.
#pragma once
#include <string>
#include <vector>

#include "dsl/op.h"

namespace halyard::gpu {

// Returns the reason why no kernel of these dtypes is built; empty if one is.
std::string no_kernel_reason(const Op &op, const std::string &dtypes);
inline bool has_kernel(const Op &op, const std::string &dtypes) {
    return no_kernel_reason(op, dtypes).empty();
}

// Returns the names of the variants that have kernels for a GPU, best first.
std::vector<std::string> variants(const OpRecord &op);

}  // namespace halyard::gpu
