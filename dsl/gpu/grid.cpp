#include "dsl/gpu/grid.h"

#include <algorithm>

namespace halyard::gpu {

using Halide::Var;
using Halide::VarOrRVar;

void distribute_over_grid(Halide::Stage &stage, const std::vector<Var> &further) {
    // Halide 21 can't derive that a thread needs one element if more dimensions share one.
    constexpr size_t max_shared = 2;
    for (size_t d = 0; d < std::min(further.size(), max_shared); d++)
        stage.fuse(grid_block, further[d], grid_block);
    std::vector<VarOrRVar> blocks = {grid_block};
    for (size_t d = max_shared; d < further.size(); d++) {
        if (blocks.size() < 3)
            blocks.emplace_back(further[d]);
        else
            stage.fuse(blocks.back(), further[d], Var(blocks.back().name()));
    }
    for (const VarOrRVar &b : blocks)
        stage.gpu_blocks(b);
}

Halide::Expr size_of_part(const Halide::Expr &steps, const Halide::Expr &terms,
                          const Halide::Expr &rows, const Halide::Expr &columns) {
    constexpr int enough_elements = 1 << 20, least_terms = 64;
    const Halide::Expr elements = min(rows, enough_elements) * min(columns, 1024);  // in 32 bits
    const Halide::Expr parts = max(enough_elements / max(elements, 1), 1);
    return max(max((steps + parts - 1) / parts, least_terms / max(terms, 1)), 1);
}

}  // namespace halyard::gpu
