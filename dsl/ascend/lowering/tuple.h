// Tuples: several values that are computed from each other's old ones, and then stored.
#pragma once
#include "dsl/ascend/lowering/nest.h"

namespace halyard::ascend {

// Stores of one Tuple's values on the chip, inside of these loops. In each iteration of a loop that
// reduces, all new values are computed before one of the old ones is replaced. Throws DispatchError
// for Tuples in global memory.
void lower_tuple(Surroundings &s, const std::vector<Loop> &loops,
                 const std::vector<const Halide::Internal::Store *> &stores);

}  // namespace halyard::ascend
