// Math functions as Halide expressions. In f32 their error is at most a few ULP, and signed zeros,
// subnormals, infinity and NaN are treated as in IEEE 754. They vectorise, and are the same
// arithmetic on every backend.
#pragma once
#include <string>
#include <vector>

#include "Halide.h"

namespace halyard::math {

// Returns the function `name` of `args`, in the type of args[0], Float(32) or Float(64):
//   exp exp2 expm1 exp_nonpositive (for x <= 0; results below 2^-126 are 0)
//   log log2 log10 log1p sqrt rsqrt reciprocal pow(x, y)
//   sin cos tan asin acos atan atan2(y, x) sinh cosh tanh asinh acosh atanh
//   erf erfc gaussian (e^(-x^2/2)) exp_minus_square (e^(-x^2))
//   sigmoid logsigmoid softplus silu mish gelu (x Phi(x)) gelu_tanh fast_gelu
//   floor ceil round (half to even) trunc
// Any other name becomes a call of the external function `<name>_f32` or `<name>_f64`.
//
// Float(32) functions are polynomials. If `own_math` is false, they are Ascend's functions
// (`exp_f32`,
// ...), or composed of these (dsl/ascend/math.h). Float(64) functions call libm, so they exist on
// the CPU only. Functions with a limit at an infinity return it: gelu(-inf), silu(-inf) and
// mish(-inf) are 0. tests/dsl/math/math_test.cpp lists and checks the error bounds.
Halide::Expr expand(const std::string &name, const std::vector<Halide::Expr> &args,
                    bool own_math = true);

}  // namespace halyard::math
