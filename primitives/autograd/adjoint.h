// Adjoint: how the gradient in one input of an op is computed, and from what. Op `softmax_dx` is
// the gradient of `softmax` in `x`; where no kernel is worth writing,
// primitives/autograd/composed_gradient.cpp states it in terms of other ops.
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
        int place;  // forward: among the op's inputs, then outputs; gradient: of output `place`
    };
    using Compose = Tensor (*)(std::span<const Tensor> in, const RegisteredOp &op,
                               const Attrs &attrs);

    const RegisteredOp *op = nullptr;  // runs on `inputs`, and output `output` is the gradient; or
    size_t output = 0;
    // does, given the op being differentiated and its attributes (undefined = zeros); neither: no
    // gradient
    Compose compose = nullptr;
    std::vector<Source> inputs;
};

// One per input of `op`; valid until this thread's next call. Throws GradError when a gradient op
// has an input that is neither an input nor an output of `op`, nor d<output>.
const std::vector<Adjoint> &adjoints_of(const RegisteredOp &op);

// Returns the gradient in a tensor of shape `given`, of which a tensor's method made another one
// with gradient dy.
Tensor gradient_through_method(const Tensor &dy, const TensorMethod &how, const Shape &given);

struct ComposedGradient {
    const char *op, *input;
    std::vector<std::string> from;  // named like a gradient op's inputs
    Adjoint::Compose compose;
};
// null when there is none
const ComposedGradient *composed_gradient(const std::string &op, const std::string &input);

}  // namespace halyard
