// Steps that compute tensors on the host.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "registry/tensor/tensor.h"

namespace halyard {

// Returns f(in). A listener hears of one step, and of nothing inside it. A result never shares
// memory with an input while somebody listens.
std::vector<Tensor> run_on_host(const std::string &name, std::span<const Tensor> in,
                                const HostFunction &f);

}  // namespace halyard
