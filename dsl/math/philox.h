// Philox4x32-10 for kernels: the function of registry/base/philox.h, as Halide expressions.
#pragma once
#include <array>
#include <vector>

#include "Halide.h"
#include "registry/base/philox.h"

namespace halyard::philox {

// Four words, UInt(32), of a counter and a key of UInt(32).
std::vector<Halide::Expr> words(std::array<Halide::Expr, 4> counter,
                                std::array<Halide::Expr, 2> key);

}  // namespace halyard::philox
