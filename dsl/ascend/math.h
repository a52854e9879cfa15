// Functions the vector unit lacks, in terms of those it has: exp, ln, sqrt, arithmetic, comparisons
// and choices.
#pragma once
#include <string>
#include <vector>

#include "Halide.h"

namespace halyard::ascend {

// `name` of Float(32) arguments, undefined for what isn't listed here: erf erfc expm1 exp2 log1p
// log2 log10 pow sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh gaussian
// exp_minus_square silu mish gelu gelu_tanh fast_gelu mod floor_div trunc_div. Of the last three
// mod is exact, and the others are below 2^24. The rest has a few ULP where exp and ln are exact to
// half a one; pow and exp2 lose what their exponent's rounding takes, sin and cos are for |x| <
// 1e4.
Halide::Expr function(const std::string &name, const std::vector<Halide::Expr> &args);

}  // namespace halyard::ascend
