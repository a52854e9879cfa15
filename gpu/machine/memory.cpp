#include "gpu/machine/memory.h"

#include "registry/base/error.h"
#include "registry/base/integer.h"

namespace halyard::ptx {
namespace {

// Addresses between two buffers, so that most accesses beyond one are in no other.
constexpr uint64_t gap = 1 << 20;
constexpr uint64_t alignment = 256;  // that of CUDA's cuMemAlloc

}  // namespace

uint64_t Memory::allocate(uint64_t bytes) {
    if (bytes > limit_ || used_ > limit_ - bytes) {
        throw MemoryError("ptx", "out of device memory: " + std::to_string(bytes) +
                                     " bytes wanted, " + std::to_string(used_) + " of " +
                                     std::to_string(limit_) + " in use");
    }
    const uint64_t address = next_;
    live_.emplace(address, std::make_unique<Buffer>(count_++, address, bytes));
    next_ = round_up(address + bytes + gap, alignment);
    used_ += bytes;
    return address;
}

bool Memory::free(uint64_t address) {
    const auto at = live_.find(address);
    if (at == live_.end()) return false;
    used_ -= at->second->bytes;
    freed_.emplace(address, at->second->bytes);
    live_.erase(at);
    return true;
}

Buffer *Memory::near(uint64_t address) {
    auto at = live_.upper_bound(address);
    return at == live_.begin() ? nullptr : std::prev(at)->second.get();
}

bool Memory::was_freed(uint64_t address) const {
    const auto at = freed_.upper_bound(address);
    if (at == freed_.begin()) return false;
    const auto &[base, bytes] = *std::prev(at);
    return address - base < bytes;
}

}  // namespace halyard::ptx
