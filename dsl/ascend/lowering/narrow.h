// Arithmetic of f16 values in f16, where that gives the bits of f32 arithmetic rounded once.
#pragma once
#include "Halide.h"

namespace halyard::ascend {

// float16(f32(a) + f32(b)) is a + b in f16, and so for - * /: f32 has more than twice the digits of
// f16 and two more, so rounding twice rounds as once does (Figueroa, "When is double rounding
// innocuous?", ACM SIGNUM Newsletter 30, 1995). max, min and abs don't round.
Halide::Expr narrowed(const Halide::Expr &e);

}  // namespace halyard::ascend
