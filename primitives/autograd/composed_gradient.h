// ComposedGradient: the gradient of an op in one of its inputs, composed of other ops. The ops that
// it runs are recorded by the tapes around the one that walks, so it has gradients itself. Files in
// primitives/composites/ and primitives/gradients/ list them (CompositeTable::gradient).
#pragma once
#include <span>
#include <string>
#include <vector>

#include "registry/dispatch/registry.h"
#include "registry/op/attrs.h"
#include "registry/tensor/tensor.h"

namespace halyard {

// Returns the gradient, undefined for zeros, given the op that is differentiated and its
// attributes. The tape sums or repeats it to the input's shape and casts it to the input's dtype.
using ComposeGradient = Tensor (*)(std::span<const Tensor> in, const RegisteredOp &op,
                                   const Attrs &attrs);

struct ComposedGradient {
    const char *op, *input;
    std::vector<std::string> from;  // what `compose` takes, named like a gradient op's inputs
    ComposeGradient compose;
};

// Null where there is none.
const ComposedGradient *composed_gradient(const std::string &op, const std::string &input);

}  // namespace halyard
