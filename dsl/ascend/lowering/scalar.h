// Lowering for the scalar unit, one element at a time, of what no vector instruction computes.
#pragma once
#include "dsl/ascend/lowering/lowering_context.h"

namespace halyard::ascend {

// Lowers the store for every iteration of the loops. Throws DispatchError, with the reason why the
// vector unit can't compute it, if the scalar unit has no instruction either.
void lower_by_elements(LoweringContext &s, const std::vector<Loop> &loops,
                       const Halide::Internal::Store &store, const std::string &reason);

}  // namespace halyard::ascend
