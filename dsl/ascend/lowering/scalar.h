// The scalar unit: what no vector instruction says, one element at a time.
#pragma once
#include "dsl/ascend/lowering/nest.h"

namespace halyard::ascend {

// The store for every iteration of the loops. Throws DispatchError for what the scalar unit has no
// instruction for either, with the reason that the vector unit gave.
void lower_by_elements(Surroundings &s, const std::vector<Loop> &loops,
                       const Halide::Internal::Store &store, const std::string &reason);

}  // namespace halyard::ascend
