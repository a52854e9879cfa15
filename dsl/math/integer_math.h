// What reals' division and powers become outside plain arithmetic: on integers, and exactly on
// floats.
#pragma once
#include <string>
#include <vector>

#include "Halide.h"

namespace halyard {

// floor_div, floor_mod, pow of integers; undefined for any other name. Division by 0 gives 0, never
// a signal. The quotient rounds down and the remainder has the divisor's sign, as in Python. Powers
// wrap; a negative power is a reciprocal rounded to 0.
Halide::Expr integer_function(const std::string &name, const std::vector<Halide::Expr> &args);

// floor_div, trunc_div, floor_mod and mod of floats, undefined for any other name. The remainder is
// exact before its one rounding. Without `own_math` by what Ascend's vector unit has: no f64, no
// fmod.
Halide::Expr float_division(const std::string &name, const std::vector<Halide::Expr> &args,
                            bool own_math);

}  // namespace halyard
