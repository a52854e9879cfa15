// A fingerprint of what cells and parameters are set to.
#pragma once
#include <atomic>
#include <cstdint>

namespace halyard {

namespace detail {
inline constinit std::atomic<uint64_t> settings{0};

inline uint64_t mixed(uint64_t v) {
    v = (v ^ (v >> 30)) * 0xBF58476D1CE4E5B9u;
    v = (v ^ (v >> 27)) * 0x94D049BB133111EBu;
    return v ^ (v >> 31);
}
}  // namespace detail

// Returns a number that changes when a cell is switched to training or evaluation, gets a hook or a
// child, or when a parameter's requires_grad changes, and that is the same again when a switch is
// set back. A captured graph belongs to one such number.
inline uint64_t settings_fingerprint() {
    return detail::settings.load(std::memory_order_acquire);
}

// A change that is never undone.
inline void settings_changed() {
    static constinit std::atomic<uint64_t> changes{0};
    detail::settings.fetch_xor(detail::mixed(++changes << 8), std::memory_order_acq_rel);
}

enum class Switch : uint8_t { training = 1, gradient, requires_grad };

// A switch of the cell or parameter at this address was turned over.
inline void settings_toggled(const void *owner, Switch which) {
    const uint64_t key = (uint64_t(reinterpret_cast<uintptr_t>(owner)) << 8) + uint64_t(which);
    detail::settings.fetch_xor(detail::mixed(key), std::memory_order_acq_rel);
}

}  // namespace halyard
