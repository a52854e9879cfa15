// The sizes of a kernel's tiles, tasks and levels of sums: random calls of extents beside them
// reach all of its loops.
#pragma once
#include <cstdint>
#include <vector>

#include "dsl/kernel.h"

namespace halyard::check {

// Returns the integer constants in the kernel's lowered code, without signs, in ascending order:
// those from 2 to largest_kernel_size, which an extent can be compared with, divided by or added
// to.
inline constexpr int64_t largest_kernel_size = int64_t(1) << 23;
std::vector<int64_t> kernel_sizes(const Kernel &k);

}  // namespace halyard::check
