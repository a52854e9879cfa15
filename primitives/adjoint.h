// Adjoint: where the inputs of op `softmax_dx`, the gradient of `softmax` in `x`, come from.
#pragma once
#include <vector>

#include "registry/registry.h"

namespace halyard {

struct Adjoint {
    enum Kind : uint8_t { forward, gradient };
    struct Source {
        Kind kind;
        int place;  // forward: among the op's inputs, then outputs; gradient: of output `place`
    };
    const RegisteredOp *op = nullptr;  // null: no such op
    std::vector<Source> inputs;
};

// One per input of `op`; valid until this thread's next call. Throws GradError when a gradient op has an input that is
// neither an input nor an output of `op`, nor d<output>.
const std::vector<Adjoint> &adjoints_of(const RegisteredOp &op);

// `cast` has no gradient op: the gradient is a cast back to the dtype of the input, which is no attribute of the call.
bool is_cast(const RegisteredOp &op);

}  // namespace halyard
