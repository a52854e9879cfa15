// The schedule that every op has on a GPU unless it states its own.
#pragma once
#include <vector>

#include "Halide.h"

namespace halyard::gpu {

// Makes each output, and each Func that has updates, a kernel of its own for its definition and for
// every update; all other Funcs are inlined. The threads of a kernel share its pure dimensions, and
// a definition without pure dimensions runs on one thread. The order of every sum is the
// algorithm's, so results do not depend on the device.
void plain_schedule(const std::vector<Halide::Func> &outputs);

}  // namespace halyard::gpu
