// Several outputs of one shape in one loop.
#pragma once
#include <vector>

#include "Halide.h"

namespace halyard {

// The loop over the threads of a GPU's block.
inline const Halide::Var gpu_thread("thread");
// The loop over the lanes of a CPU's vector.
inline const Halide::Var vector_lane("lane");

// Returns a Func that stores all of `outputs`, which have the same arguments and no updates, in one
// loop. No output may overwrite an input.
Halide::Func joint_outputs(const std::vector<Halide::Func> &outputs);

// As above, for a GPU. A thread has computed all of its elements before it stores the first, so
// each output may overwrite an input that all of them read. The schedule must give the Func a loop
// `gpu_thread`.
Halide::Func joint_outputs_of_threads(const std::vector<Halide::Func> &outputs);

// As above, for a CPU. All elements of a vector have been computed before the first is stored, and
// an output that reads another one reads its vector. The schedule must give the Func a loop
// `vector_lane`.
Halide::Func joint_outputs_of_lanes(const std::vector<Halide::Func> &outputs);

}  // namespace halyard
