// Philox4x32-10 (registry/base/philox.h) as Halide expressions.
#pragma once
#include <array>
#include <vector>

#include "Halide.h"
#include "registry/base/philox.h"

namespace halyard::philox {

// Returns the four random words of a counter and a key; all are UInt(32).
std::vector<Halide::Expr> words(std::array<Halide::Expr, 4> counter,
                                std::array<Halide::Expr, 2> key);

}  // namespace halyard::philox
