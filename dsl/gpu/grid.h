// The grid of blocks in which a kernel's threads stand.
#pragma once
#include <vector>

#include "Halide.h"

namespace halyard::gpu {

// The dimension of the grid that a schedule splits from the first dimension of a Func.
inline const Halide::Var grid_block("block");

// Distributes `grid_block` and the further dimensions of a stage over the grid. The first of them
// share one dimension of it, because CUDA limits the others to 65,535.
void distribute_over_grid(Halide::Stage &stage, const std::vector<Halide::Var> &further);

}  // namespace halyard::gpu
