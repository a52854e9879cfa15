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

// Returns f(in). A result that shares memory with input k is a copy if is_copied(k).
std::vector<Tensor> run_apart(const HostFunction &f, std::span<const Tensor> in,
                              const std::function<bool(size_t k)> &is_copied);

}  // namespace halyard
