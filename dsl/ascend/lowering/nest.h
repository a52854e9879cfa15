// Nests: loops around one store, and their lowering to instructions.
#pragma once
#include "dsl/ascend/lowering/lowering_context.h"

namespace halyard::ascend {

// Lowers stores that don't read each other, inside of `loops`, outermost first. Throws
// DispatchError.
void lower_nests(LoweringContext &s, const std::vector<Loop> &loops,
                 const std::vector<const Halide::Internal::Store *> &stores);
// Lowers one store.
void lower_nest(LoweringContext &s, const std::vector<Loop> &loops,
                const Halide::Internal::Store &store);

}  // namespace halyard::ascend
