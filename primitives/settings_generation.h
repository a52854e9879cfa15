// The age of what cells and parameters are set to.
#pragma once
#include <atomic>
#include <cstdint>

namespace halyard {

// Grows when a cell is switched to training or evaluation, gets a hook or a child, or when a
// parameter's requires_grad changes. A captured graph of an earlier generation is stale.
inline constinit std::atomic<uint64_t> settings_generation{0};

inline void settings_changed() {
    settings_generation.fetch_add(1, std::memory_order_acq_rel);
}

}  // namespace halyard
