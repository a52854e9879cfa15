// Adjoint: how the gradient in one input of an op is computed, and from what. Op `softmax_dx` is
// the gradient of `softmax` in `x`; where no kernel is worth writing, a ComposedGradient states it
// in terms of other ops.
#pragma once
#include <vector>

#include "primitives/autograd/composed_gradient.h"
#include "registry/dispatch/registry.h"
#include "registry/op/attrs.h"
#include "registry/tensor/tensor.h"

namespace halyard {

struct Adjoint {
    enum Kind : uint8_t { forward, gradient };
    struct Source {
        Kind kind;
        int place;  // forward: among the op's inputs, then outputs; gradient: of output `place`
    };

    const RegisteredOp *op = nullptr;  // runs on `inputs`, and output `output` is the gradient; or
    size_t output = 0;
    // does, given the op being differentiated and its attributes (undefined = zeros); neither: no
    // gradient
    ComposeGradient compose = nullptr;
    std::vector<Source> inputs;
};

// One per input of `op`; valid until this thread's next call. Throws GradError when a gradient op
// has an input that is neither an input nor an output of `op`, nor d<output>.
const std::vector<Adjoint> &adjoints_of(const RegisteredOp &op);

}  // namespace halyard
