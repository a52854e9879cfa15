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

// Returns how many steps of a sum a part of it has, of `steps` that add `terms` each: so few that
// all parts of a kernel's elements, which are rows * columns, give a GPU some hundred blocks of
// threads with a tile each, but enough that a part is worth its store. It depends on the shape
// alone, as does the order of each sum then.
Halide::Expr size_of_part(const Halide::Expr &steps, const Halide::Expr &terms,
                          const Halide::Expr &rows, const Halide::Expr &columns);

}  // namespace halyard::gpu
