// Functions that the vector unit lacks, computed by those it has: exp, ln, sqrt, arithmetic,
// comparisons and selections.
#pragma once
#include <string>
#include <vector>

#include "Halide.h"

namespace halyard::ascend {

// Returns function `name` of Float(32) arguments, or an undefined Expr if it isn't one of these:
// erf erfc expm1 exp2 log1p log2 log10 pow sin cos tan asin acos atan atan2 sinh cosh tanh asinh
// acosh atanh gaussian exp_minus_square silu mish gelu gelu_tanh fast_gelu mod floor_div trunc_div.
//
// mod is exact; floor_div and trunc_div are exact for quotients below 2^24. The others have errors
// of a few ULPs if exp and ln are exact to half an ULP. sin and cos are for |x| < 1e4.
Halide::Expr function(const std::string &name, const std::vector<Halide::Expr> &args);

}  // namespace halyard::ascend
