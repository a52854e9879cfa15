// Sandbox: makes faults of parallel loops and of uninitialised memory certain instead of
// accidental.
//
// It is the race detector of CPU kernels. Every iteration of a loop that may run in parallel starts
// from the memory before the loop, so that it doesn't see what others wrote. Two iterations that
// write different values to one place are reported. Scratch memory and the stack contain garbage at
// first, and scratch memory is fenced. Related checks: threads.cpp varies the number of threads,
// isolation.cpp follows NaN from inputs to outputs, legality.cpp uses oclgrind and sanitizers.
#pragma once
#include <functional>
#include <span>
#include <string>

#include "registry/tensor/tensor.h"

namespace halyard::check {

inline constexpr unsigned char garbages[] = {0xFF, 0x5A};  // a NaN of every float; large numbers

// Calls run(), which calls kernels that write to `outputs`, and rethrows its exceptions. Returns
// what the kernels did wrong, "" for nothing.
std::string in_sandbox(std::span<const Tensor> outputs, unsigned char garbage,
                       const std::function<void()> &run);

}  // namespace halyard::check
