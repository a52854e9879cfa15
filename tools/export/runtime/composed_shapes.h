// The shapes of a composite's results by its signature, without running it. The command that
// exports it compares them with those of its samples.
#pragma once
#include <vector>

#include "registry/dispatch/registry.h"
#include "registry/op/attrs.h"
#include "tools/export/runtime/tensor_meta.h"

namespace halyard::host {

std::vector<TensorMeta> infer_composed(const RegisteredOp &op, const std::vector<TensorMeta> &in,
                                       const Attrs &attrs);

}  // namespace halyard::host
