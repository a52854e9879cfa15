// Integer expressions of Halide's, evaluated: what they are where every name in them is known.
#pragma once
#include <map>
#include <optional>
#include <string>

#include "Halide.h"

namespace halyard {

using IntegerBindings = std::map<std::string, int64_t>;

// Nothing where a name isn't known, where data is loaded, and for division by zero's like. Of a
// vector, the value in `lane`. Booleans are 0 or 1; division rounds as Halide's does. hints
// (likely, promises of a range) are what they hold.
std::optional<int64_t> integer_value(const Halide::Expr &e, const IntegerBindings &known,
                                     int lane = 0);

}  // namespace halyard
