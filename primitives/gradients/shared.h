// Composed gradients that several ops have.
#pragma once
#include <span>

#include "registry/dispatch/registry.h"
#include "registry/op/attrs.h"
#include "registry/tensor/tensor.h"

namespace halyard {

// Returns dy.
Tensor pass_gradient(std::span<const Tensor> in, const RegisteredOp &op, const Attrs &attrs);
// Returns no gradient: the op is constant between steps.
Tensor no_gradient(std::span<const Tensor> in, const RegisteredOp &op, const Attrs &attrs);
// Returns the product of two inputs.
Tensor product_gradient(std::span<const Tensor> in, const RegisteredOp &op, const Attrs &attrs);
// Runs the op itself on `in`: a linear op that is its own adjoint.
Tensor same_op(std::span<const Tensor> in, const RegisteredOp &op, const Attrs &attrs);

}  // namespace halyard
