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
    Operand acc, source;  // the elements of `source` may be narrower than those of `acc`
    bool first = false;   // acc isn't initialised: the results overwrite it
    // The elements are those of `source` times these, of the same type.
    std::optional<Operand> factor = {};
};
// Throws NotVectorizable if the vector unit has no such reduction.
void reduce(Writer &w, const dv::Profile &chip, const Reduction &r);

// Reduces several sums over long rows of one shape. From the second step on they are one reduction,
// which takes half as many instructions. can_reduce_together() decides whether two of them may be.
bool can_reduce_together(const dv::Profile &chip, const Reduction &a, const Reduction &b);
void reduce_together(Writer &w, const dv::Profile &chip, const std::vector<Reduction> &all);

}  // namespace halyard::ascend
