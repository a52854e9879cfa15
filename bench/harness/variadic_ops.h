// Joined ops: primitives over any number of tensors (primitives/composites/concat.h), which no
// signature can name, as data.
#pragma once
#include <span>
#include <vector>

#include "registry/op/attrs.h"
#include "registry/tensor/tensor.h"

namespace halyard::command {

struct JoinedOp {
    OpRecord record;
    std::vector<Tensor> (*run)(std::span<const Tensor> in, const Attrs &attrs);
};

const std::vector<JoinedOp> &joined_ops();
const JoinedOp *joined_op(const std::string &name);  // null when it isn't one

}  // namespace halyard::command
