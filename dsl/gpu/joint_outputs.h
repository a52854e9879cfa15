// Several outputs of one shape in one kernel of a GPU.
#pragma once
#include <vector>

#include "Halide.h"

namespace halyard::gpu {

// The loop over the threads of a block.
inline const Halide::Var thread("thread");

// Returns a Func that stores all of `outputs`, which have the same arguments and no updates. A
// thread of its kernel has computed all of its elements before it stores the first, so each output
// may overwrite an input that all of them read. The schedule must give the Func a loop `thread`.
Halide::Func joint_outputs(const std::vector<Halide::Func> &outputs);

}  // namespace halyard::gpu
