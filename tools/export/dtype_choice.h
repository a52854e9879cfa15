// Ops whose outputs' dtype an attribute chooses.
#pragma once
#include <algorithm>

#include "registry/dispatch/registry.h"

namespace halyard {

// Returns true if no input has the type variable of an output: attribute `dtype` is its dtype.
inline bool chooses_dtype(const RegisteredOp &op) {
    return std::ranges::any_of(op.signature.outputs, [&](const TensorSpec &out) {
        return is_type_variable(out.dtype) &&
               std::ranges::find(op.signature.inputs, out.dtype, &TensorSpec::dtype) ==
                   op.signature.inputs.end();
    });
}

}  // namespace halyard
