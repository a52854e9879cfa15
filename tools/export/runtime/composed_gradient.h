// Gradients of a library that are composed of other ops: an op that records what it differentiates
// on a tape. The command that writes the library uses it too, to find the kernels that it takes.
#pragma once
#include <string>
#include <vector>

#include "registry/dispatch/registry.h"
#include "registry/op/attrs.h"
#include "registry/tensor/tensor.h"

namespace halyard {

// Returns the record of the op that computes the gradients of `forward` in these of its inputs:
//   matmul_da: a[..g,m,k] b[..g,k,n] c[..g,m,n] dc[..g,m,n] -> da[..g,m,k] db[..g,k,n]
// A composite's outputs are no inputs, because it is composed once more.
OpRecord composed_gradient_record(const RegisteredOp &forward,
                                  const std::vector<std::string> &inputs);

// Runs such an op. Throws GradError if an op that `forward` is composed of has no gradient.
std::vector<Tensor> run_composed_gradient(const RegisteredOp &forward, const RegisteredOp &gradient,
                                          std::span<const Tensor> in, const Attrs &attrs);

}  // namespace halyard
