// Sums in trees: terms that are added one after another to one number lose digits that the ops'
// error bounds leave no room for.
#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "Halide.h"

namespace halyard {

// Returns the factors by which a loop over terms is split, the innermost first; none if it stays
// whole. `extent` is the number of its iterations, if that is a constant.
using ChunksOf = std::function<std::vector<int>(std::optional<int64_t> extent, bool is_alone)>;

// Makes a tree of update number `k` of `f`, if it is a sum: each loop over its terms but the
// outermost has a partial sum of its own. Loops are split into chunks first. If `innermost` is a
// dimension of `f`, its loop goes inside of those over the terms. Returns false, and changes
// nothing, if it is no sum.
bool sum_in_tree(Halide::Func &f, int k, const ChunksOf &chunks_of,
                 const std::optional<Halide::Var> &innermost = {});

}  // namespace halyard
