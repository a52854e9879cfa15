// Sandbox: a place for kernels where what is luck elsewhere is certain.
//
// Every iteration of a loop that may run in parallel starts from the memory as it was before the
// loop, so that it can't see what others wrote, and two that write different values to one place
// are caught. Scratch memory and the stack hold garbage before, and scratch is fenced.
#pragma once
#include <functional>
#include <span>
#include <string>

#include "registry/tensor/tensor.h"

namespace halyard::check {

inline constexpr unsigned char garbages[] = {0xFF, 0x5A};  // a NaN of every float; large numbers

// run() calls kernels that write to `outputs`; what it throws is thrown on. Gives what they did
// wrong, "" for nothing known.
std::string in_sandbox(std::span<const Tensor> outputs, unsigned char garbage,
                       const std::function<void()> &run);

}  // namespace halyard::check
