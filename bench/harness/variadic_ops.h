// Variadic ops: primitives that take or return any number of tensors (concat, split, einsum). No
// signature can name their tensors, so their records stand here.
#pragma once
#include <span>
#include <vector>

#include "registry/op/attrs.h"
#include "registry/tensor/tensor.h"

namespace halyard::bench {

struct VariadicOp {
    OpRecord record;
    std::string family;  // as OpFile::family: "layout"
    std::vector<Tensor> (*run)(std::span<const Tensor> in, const Attrs &attrs);
};

// Returns all variadic ops, by name.
const std::vector<VariadicOp> &variadic_ops();

// Returns the variadic op called `name`, or null if there is none.
const VariadicOp *variadic_op(const std::string &name);

}  // namespace halyard::bench
