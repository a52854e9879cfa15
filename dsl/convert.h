// Conversions at the end of a kernel: from what was computed to what is stored.
#pragma once
#include "Halide.h"

namespace halyard {

// Floats to integers truncate and saturate, NaN becomes 0: no value is undefined. Integers wrap.
// f64, i64 and i32 to 16-bit floats round once, to nearest even. f16_by_halide: see Arithmetic.
Halide::Expr converted(const Halide::Expr &v, const Halide::Type &to, bool f16_by_halide = false);

}  // namespace halyard
