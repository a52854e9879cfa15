// Inlines the lets of a statement.
#pragma once
#include "Halide.h"

namespace halyard::ascend {

// Returns the statement without LetStmts. The lets of indices, loops and conditions are inlined; a
// value that would become long is a let within the values of stores.
Halide::Internal::Stmt without_lets(const Halide::Internal::Stmt &s);

}  // namespace halyard::ascend
