// Joined ops: primitives over any number of tensors (primitives/composites/concat.h), which no
// signature can name, as data.
#pragma once
#include <span>
#include <vector>

#include "registry/op/attrs.h"
#include "registry/tensor/tensor.h"

namespace halyard::bench {

struct VariadicOp {
    OpRecord record;
    std::vector<Tensor> (*run)(std::span<const Tensor> in, const Attrs &attrs);
};

const std::vector<VariadicOp> &variadic_ops();
const VariadicOp *variadic_op(const std::string &name);  // null when it isn't one

}  // namespace halyard::bench
