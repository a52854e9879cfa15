// Evaluation of Halide's integer expressions.
#pragma once
#include <optional>
#include <string>

#include "Halide.h"
#include "registry/base/named.h"

namespace halyard {

// The values of variables, by name.
using IntegerBindings = Named<int64_t>;

// Returns the value of `e`, or nullopt if it uses an unknown name or loads from memory. For a
// vector it returns the value in `lane`. Booleans are 0 or 1. Division and modulo round as in
// Halide, where x / 0 and x % 0 are 0. likely() and promise_clamped() evaluate to their argument.
std::optional<int64_t> integer_value(const Halide::Expr &e, const IntegerBindings &bindings,
                                     int lane = 0);

}  // namespace halyard
