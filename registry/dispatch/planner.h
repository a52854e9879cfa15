// Planning: from the dtypes, shapes, strides and attributes of a call to its Plan.
#pragma once
#include "registry/dispatch/plan.h"

namespace halyard {

// Returns what planning reads of the tensors of a call.
std::vector<OperandMeta> metas_of(std::span<const Tensor> in);

// Throws ShapeError, DTypeError or AttrError when the call does not fit the op's record, and
// DispatchError when no kernel takes it. With `explaining`, Plan::candidates is filled and a call
// without a kernel throws nothing.
Plan make_plan(const RegisteredOp &op, std::span<const OperandMeta> in, const Attrs &attrs,
               bool explaining = false);

}  // namespace halyard
