// Narrows arithmetic on f16 values from f32 to f16, if that gives the bits of f32 arithmetic
// rounded once.
#pragma once
#include "Halide.h"

namespace halyard::ascend {

// Replaces float16(f32(a) + f32(b)) by a + b in f16, and likewise for - * /. f32 has more than
// twice the digits of f16 and two more, so rounding twice gives the same as rounding once
// (Figueroa, "When is double rounding innocuous?", ACM SIGNUM Newsletter 30, 1995). max, min and
// abs don't round.
Halide::Expr narrowed(const Halide::Expr &e);

}  // namespace halyard::ascend
