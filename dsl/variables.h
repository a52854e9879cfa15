// Variables of Halide expressions.
#pragma once
#include <set>
#include <string>

#include "Halide.h"

namespace halyard {

// Returns the names of the variables in `e`.
std::set<std::string> variables_of(const Halide::Expr &e);

}  // namespace halyard
