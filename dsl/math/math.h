// Math functions of our own, as Halide expressions: a few ULP at most in f32; signed zeros,
// subnormals, Inf and NaN as IEEE 754 says; vectorised, and the same arithmetic on every backend.
#pragma once
#include <string>
#include <vector>

#include "Halide.h"

namespace halyard::math {

// `name` applied to `args`, at the type of args[0]. Float(32) and Float(64) are covered for
//   exp exp_nonpositive (x <= 0; 0 below 2^-126) exp2 expm1 log log2 log10 log1p sqrt rsqrt
//   reciprocal pow(x, y) sin cos tan asin acos atan atan2(y, x) sinh cosh tanh asinh acosh atanh
//   erf erfc gaussian (e^(-x^2/2)) exp_minus_square (e^(-x^2)) sigmoid gelu (x Phi(x)) gelu_tanh
//   fast_gelu softplus logsigmoid silu mish floor ceil round (half to even) trunc.
// Float(32): polynomials of our own; own = false keeps Ascend's functions (`exp_f32`, ...), and
// makes the others of them (dsl/ascend/math.h). Float(64): calls of libm, so CPU only. Any other
// name becomes the extern call `<name>_f32` or `<name>_f64`. Functions with a limit at an infinity
// return it: gelu(-inf), silu(-inf) and mish(-inf) are 0. Error bounds, in ULP, are listed and
// asserted in tests/dsl/math_test.cpp.
Halide::Expr expand(const std::string &name, const std::vector<Halide::Expr> &args,
                    bool own = true);

}  // namespace halyard::math
