// Conversion of a kernel's results to the type in which they are stored.
#pragma once
#include "Halide.h"

namespace halyard {

// Returns `v` converted to `to`. Floats are truncated and saturated to integers, and NaN becomes 0,
// so no value is undefined. Integers wrap. f64, i64 and i32 are rounded once to a 16-bit float, to
// nearest even. For `f16_by_halide` see Arithmetic (dsl/real.h).
Halide::Expr converted(const Halide::Expr &v, const Halide::Type &to, bool f16_by_halide = false);

}  // namespace halyard
