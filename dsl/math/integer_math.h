// Functions of integers, and division with a remainder of integers and floats.
#pragma once
#include <string>
#include <vector>

#include "Halide.h"

namespace halyard {

// Where a division is computed. Ascend's vector unit has its own instructions, but neither f64 nor
// fmod. A GPU has no fmod of C's library, and an unsigned division by 0 is undefined in OpenCL.
enum class Divider : uint8_t { cpu, ascend, gpu };

// Returns a function of integers: floor_div, floor_mod, mod, pow, the bitwise functions and the
// shifts. Returns an undefined Expr for any other name.
//
// Division by 0 gives 0, without a signal. floor_div rounds down and floor_mod has the sign of the
// divisor, as in Python; mod has the sign of the dividend. Powers wrap. A negative power is the
// reciprocal, rounded towards 0. A shift by a negative count, or by all bits or more, gives 0, or
// -1 for a right shift of a negative number.
Halide::Expr integer_function(const std::string &name, const std::vector<Halide::Expr> &args,
                              Divider on = Divider::cpu);

// Returns floor_div, trunc_div, floor_mod or mod of floats, or an undefined Expr for any other
// name. The remainder is computed exactly and rounded once.
Halide::Expr float_division(const std::string &name, const std::vector<Halide::Expr> &args,
                            Divider on);

}  // namespace halyard
