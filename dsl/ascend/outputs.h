// The Funcs that write an Ascend program's outputs.
#pragma once
#include <vector>

#include "dsl/ascend/schedule.h"

namespace halyard::ascend {

// Returns the Funcs that compute the outputs. Consecutive outputs of one shape are computed by one
// Func, tile by tile, so that each may overwrite an input that all of them read. Every further Func
// has stages of its own; only reductions are shared with the Funcs before.
std::vector<Halide::Func> fused_outputs(const std::vector<Halide::Func> &outputs,
                                        const std::vector<FixedCall::Layout> &layouts);

}  // namespace halyard::ascend
