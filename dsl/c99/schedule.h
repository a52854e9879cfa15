// The automatic schedule of a C99 function.
#pragma once
#include <vector>

#include "Halide.h"

namespace halyard::c99 {

// Schedules all Funcs that `outputs` depend on: each reduction is computed at the outermost loop of
// its output that it depends on, once for each of its values, so that a softmax is linear in its
// elements. One that no such loop serves, or that several outputs read, is computed before them.
// Funcs without a reduction are inlined. Long sums become trees (dsl/sum_tree.h).
void schedule(const std::vector<Halide::Func> &outputs);

}  // namespace halyard::c99
