// Proofs about integers, such as bounds of loops, which need more than one step of Halide's
// simplifier: "i < n / 4 implies 4 i + 4 <= n".
#pragma once
#include <vector>

#include <Halide.h>

namespace halyard {

// Returns true if it finds a proof that the conditions imply `goal`, for all integers in the place
// of the variables. It follows sums, products with constants, divisions and remainders by
// constants, minima, maxima, choices, comparisons and their combinations; all else is a variable.
// False says nothing.
bool implies(const std::vector<Halide::Expr> &conditions, const Halide::Expr &goal);

}  // namespace halyard
