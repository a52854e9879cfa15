// Tuples: several values that are computed from each other's old values, and then stored.
#pragma once
#include "dsl/ascend/lowering/nest.h"

namespace halyard::ascend {

// Lowers the stores of one Tuple's values on the chip, inside of these loops. In each iteration of
// a reduction's loop all new values are computed before an old one is replaced. Throws
// DispatchError for Tuples in global memory.
void lower_tuple(LoweringContext &s, const std::vector<Loop> &loops,
                 const std::vector<const Halide::Internal::Store *> &stores);

}  // namespace halyard::ascend
