// Errors of the ops that a composite is made of, told in the terms of the composite's caller.
#pragma once
#include <span>

#include "registry/base/error.h"
#include "registry/dispatch/registry.h"
#include "registry/op/attrs.h"
#include "registry/tensor/tensor.h"

namespace halyard {

// Returns what is wrong with a call of the composite `op` in which another op threw `inner`. If the
// inputs contradict the composite's own signature, dtypes or conditions, it is that, with the
// names of its inputs and dimensions; otherwise the inner error, after the inner op's name where
// that may help.
std::string detail_for_caller(const RegisteredOp &op, std::span<const Tensor> in,
                              const Attrs &attrs, const Error &inner);

}  // namespace halyard
