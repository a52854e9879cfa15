// Reductions within a tile: trees of vector instructions.
#pragma once
#include <optional>

#include "dsl/ascend/lowering/values.h"

namespace halyard::ascend {

// acc = acc op (all elements of `source` along the dimensions where acc has stride 0), over a space
// of `extents`.
struct Reduction {
    std::vector<int64_t> extents;
    dv::VecOp op = dv::VecOp::add;
    Operand acc, source;  // the elements may be of a narrower type than acc
    bool first = false;   // acc holds nothing yet
    // the elements are those of `source` times these, of one type
    std::optional<Operand> factor = {};
};
// Throws NotVectorizable where the vector unit can't.
void reduce(Writer &w, const dv::Profile &chip, const Reduction &r);

// Sums over long rows of the same shape: from the second step on they are one reduction, of half as
// many instructions.
bool can_reduce_together(const dv::Profile &chip, const Reduction &a, const Reduction &b);
void reduce_together(Writer &w, const dv::Profile &chip, const std::vector<Reduction> &all);

}  // namespace halyard::ascend
