// Says which instruction sets a build has kernels of: sanitizer builds have those of one.
#pragma once
#include <algorithm>

#include "primitives/library.h"

namespace halyard {

// Returns true if softmax, which stands for all ops, has kernels of this level.
inline bool has_kernels(Isa isa) {
    return std::ranges::any_of(library().at("softmax").kernels, [&](const KernelEntry &k) {
        return k.backend == "cpu" && k.isa == isa;
    });
}

}  // namespace halyard
