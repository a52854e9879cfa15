// The schedule that every op has on a GPU unless it states its own.
#pragma once
#include <vector>

#include "Halide.h"

namespace halyard::gpu {

// What computes an element of a reduction whose terms lie side by side in memory.
enum class Row : unsigned char { by_warp, by_thread };

// Inlines all Funcs but outputs and those with updates. A Func whose updates write only the element
// that they read, such as a sum, is one kernel, in which a thread or a warp has its element; if
// only an output reads it, each element at its own place, it is part of the output's kernel. Other
// definitions and updates are kernels of their own. The threads of a kernel share its pure
// dimensions, and a definition without pure dimensions runs on one thread.
//
// Where the terms of an element lie side by side in memory, a warp has it (dsl/gpu/row_kernels.h).
// An output and the reductions of its rows, such as a softmax, are one kernel then.
//
// CUDA takes at most 65,535 blocks along the second and third dimension of a grid, which are the
// fourth and the further dimensions of a Func.
//
// A thread adds the terms of a sum in chunks of 64, and then the sums of the chunks. This tree
// depends on the shape alone, so results do not depend on the device. All components of a Tuple
// have the same tree. Sums of four and more pure dimensions have the algorithm's order.
void plain_schedule(const std::vector<Halide::Func> &outputs, Row rows = Row::by_warp);

}  // namespace halyard::gpu
