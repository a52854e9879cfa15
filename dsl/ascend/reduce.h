// Reductions within a tile: trees of vector instructions.
#pragma once
#include "dsl/ascend/values.h"

namespace halyard::ascend {

// acc = acc op (all elements of `source` along the dimensions where acc has stride 0). `space` is the nest's, of both.
// The elements may be of a narrower type than acc. `first`: acc holds nothing yet. With `factor` they are `source` times that, element by
// element, of one type. Throws NotVector where the vector unit can't.
void reduce(Writer &w, const dv::Profile &chip, const std::vector<int64_t> &extents, dv::VecOp op, const Operand &acc, const Operand &source, bool first,
            const Operand *factor = nullptr);

}  // namespace halyard::ascend
