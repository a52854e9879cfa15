// Lets of a statement, put where they are used.
#pragma once
#include "Halide.h"

namespace halyard::ascend {

// The statement without LetStmts: what indices, loops and conditions are made of is the same
// expression wherever it is used; values that would become long are lets within the values of
// stores.
Halide::Internal::Stmt without_lets(const Halide::Internal::Stmt &s);

}  // namespace halyard::ascend
