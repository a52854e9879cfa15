// Adjoint: how the gradient in one input of an op is computed, and from which tensors. Op
// `softmax_dx` computes the gradient of `softmax` in `x`. For ops without such a kernel,
// primitives/autograd/composed_gradient.cpp composes it from other ops.
#pragma once
#include <span>
#include <vector>

#include "registry/dispatch/registry.h"
#include "registry/op/attrs.h"
#include "registry/tensor/tensor.h"
#include "registry/tensor/tensor_methods.h"

namespace halyard {

struct Adjoint {
    enum Kind : uint8_t { forward, gradient };
    struct Source {
        Kind kind;
        int place;  // forward: index among the inputs, then outputs; gradient: index of the output
    };
    using Compose = Tensor (*)(std::span<const Tensor> in, const RegisteredOp &op,
                               const Attrs &attrs);

    // The gradient is output `output` of `op` or the result of `compose`, both called on `inputs`.
    // There is no gradient if both are null. An undefined result of `compose` stands for zeros.
    const RegisteredOp *op = nullptr;
    size_t output = 0;
    Compose compose = nullptr;
    std::vector<Source> inputs;
};

// Returns the adjoint of each input of `op`; valid until this thread's next call. Throws GradError
// if a gradient op has an input that is neither an input or output of `op` nor d<output>.
const std::vector<Adjoint> &adjoints_of(const RegisteredOp &op);

// Returns the gradient in a tensor of shape `given`, of which a tensor's method made another one
// with gradient dy.
Tensor gradient_through_method(const Tensor &dy, const TensorMethod &how, const Shape &given);

struct ComposedGradient {
    const char *op, *input;
    std::vector<std::string> from;  // the inputs, named like those of a gradient op
    Adjoint::Compose compose;
};
// Returns null if there is none.
const ComposedGradient *composed_gradient(const std::string &op, const std::string &input);

}  // namespace halyard
