// Sums of products in l0c: which loops of a nest are the product's rows, columns and depth.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "dsl/ascend/lowering/nest.h"

namespace halyard::ascend {

// Writes the product that the store adds to what it has in l0c, inside of the loops. That sums
// begin at 0 is the first product's matter: `earlier` isn't 0 where terms have been added in loops
// around. One loop is the rows' (the sum and one factor move with it), one the columns' (the sum
// and the other one), one the depth's (both factors). What is left has to go around: then nothing
// is written, and those loops are returned. Throws DispatchError for what the cube unit doesn't
// add.
std::set<std::string> lower_sums(Surroundings &s, const std::vector<Loop> &loops,
                                 const Halide::Internal::Store &store, const dv::Expr &earlier);

}  // namespace halyard::ascend
