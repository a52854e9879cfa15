// The schedule that every op has on a GPU unless it states its own.
#pragma once
#include <vector>

#include "Halide.h"

namespace halyard::gpu {

// Makes each output, and each Func that has updates, a kernel of its own for its definition and for
// every update; all other Funcs are inlined. The threads of a kernel share its pure dimensions, and
// a definition without pure dimensions runs on one thread.
//
// A thread adds the terms of a sum in chunks of 64, and then the sums of the chunks. This tree
// depends on the shape alone, so results do not depend on the device. All components of a Tuple
// have the same tree. Sums of four and more pure dimensions have the algorithm's order.
void plain_schedule(const std::vector<Halide::Func> &outputs);

}  // namespace halyard::gpu
