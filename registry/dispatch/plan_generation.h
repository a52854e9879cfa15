// The age of cached plans.
#pragma once
#include <atomic>
#include <cstdint>

namespace halyard {

// Grows with each call of invalidate_plans(); a plan of an earlier generation is stale.
inline constinit std::atomic<uint64_t> plan_generation{1};

// To be called when kernels are added, or when the device or the ISA limit changes.
inline void invalidate_plans() {
    plan_generation.fetch_add(1, std::memory_order_acq_rel);
}

}  // namespace halyard
