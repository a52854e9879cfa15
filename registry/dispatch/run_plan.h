// Running a planned call.
#pragma once
#include "registry/dispatch/plan.h"

namespace halyard {

// Runs the plan on tensors of the shapes, strides and dtypes it was made for. Does nothing when all
// outputs are empty. Throws MemoryError when a kernel's allocation fails, DispatchError when the
// kernel fails otherwise.
void run_plan(const Plan &p, std::span<const Tensor> in, const Attrs &attrs,
              std::span<const Tensor> out);

// Returns the copy that run_plan() makes of t where the plan copies: expanded to copy_shape, dense
// with its dimensions in copy_order, viewed with its dimensions in their original order.
Tensor gathered(const Tensor &t, const Plan::Buffer &b);

}  // namespace halyard
