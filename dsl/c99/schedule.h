// The automatic schedule of a C99 function.
#pragma once
#include <vector>

#include "Halide.h"

namespace halyard::c99 {

// Schedules all Funcs that `outputs` depend on: each reduction is computed at the outermost loop of
// its output that it depends on, once for each of its values, so that a softmax is linear in its
// elements. One that no such loop serves, or that several outputs read, is computed before them.
// Funcs without a reduction are inlined. Long sums become trees (dsl/sum_tree.h). With `lanes`
// above 1, reductions for up to so many neighbours of an output are computed side by side, which
// compilers turn into vectors; each adds its terms in the order that it has alone.
void schedule(const std::vector<Halide::Func> &outputs, int lanes);

}  // namespace halyard::c99
