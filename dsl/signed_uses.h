// Whether the sign of a variable counts: (b - a)^2 is (a - b)^2.
#pragma once
#include <Halide.h>

#include <string>

namespace halyard {

// Returns true if the body of a let uses it in its square and its absolute value only.
bool has_no_sign(const std::string &name, const Halide::Internal::Stmt &body);
bool has_no_sign(const std::string &name, const Halide::Expr &body);

}  // namespace halyard
