#include "registry/gpu/pool.h"

#include <algorithm>
#include <atomic>
#include <bit>

#include "registry/base/error.h"

namespace halyard::gpu {
namespace {

std::atomic<bool> keeps = true;

// Rounds up to one of four sizes for every power of two, at least 256.
size_t block_size(size_t bytes) {
    constexpr size_t least = 256, largest = SIZE_MAX / 2;
    if (bytes <= least) return least;
    if (bytes > largest) return bytes;
    const size_t step = std::bit_floor(bytes - 1) / 4;
    return (bytes + step - 1) / step * step;
}

}  // namespace

void keep_released_blocks(bool keep) {
    keeps = keep;
}

Pool::~Pool() {
    for (auto &[address, owned] : blocks_)
        driver_.release(owned.block);
}

// Returns 0 if no block of `bytes` to `most` is kept.
Address Pool::take_kept(size_t bytes, size_t most) {
    const auto at = kept_.lower_bound(bytes);
    if (at == kept_.end() || at->first > most) return 0;
    const Address address = at->second;
    kept_bytes_ -= at->first;
    live_bytes_ += at->first;
    blocks_.at(address).in_use = true;
    kept_.erase(at);
    return address;
}

Address Pool::allocate_anew(size_t bytes) {
    const DeviceBlock block = driver_.allocate(bytes);
    driver_allocations_++;
    live_bytes_ += block.bytes;
    blocks_[block.base] = {block};
    return block.base;
}

Address Pool::allocate(size_t bytes) {
    bytes = std::max<size_t>(bytes, 1);
    const size_t size = keeps ? block_size(bytes) : bytes;
    if (const Address kept = take_kept(bytes, size)) return kept;
    try {
        return allocate_anew(size);
    } catch (const OutOfMemory &) {
    }
    const size_t kept = kept_bytes_;
    trim();
    try {
        return allocate_anew(bytes);
    } catch (const OutOfMemory &) {
        throw MemoryError(device_, "out of memory: " + std::to_string(bytes) + " bytes wanted, " +
                                       std::to_string(live_bytes_) + " in use; " +
                                       std::to_string(kept) +
                                       " that were kept have been returned to the driver");
    }
}

void Pool::release(Address address) noexcept {
    const auto at = blocks_.find(address);
    if (at == blocks_.end() || !at->second.in_use) return;
    Owned &owned = at->second;
    live_bytes_ -= owned.block.bytes;
    if (keeps) {
        owned.in_use = false;
        kept_bytes_ += owned.block.bytes;
        kept_.emplace(owned.block.bytes, address);
    } else {
        driver_.release(owned.block);
        blocks_.erase(at);
    }
}

DevicePlace Pool::find(Address address, size_t bytes) const {
    auto at = blocks_.upper_bound(address);
    if (at == blocks_.begin()) return {};
    const auto &[base, owned] = *--at;
    const size_t offset = address - base;
    const size_t size = owned.block.bytes;
    if (!owned.in_use || offset > size || bytes > size - offset) return {};
    return {&owned.block, offset};
}

void Pool::trim() noexcept {
    for (const auto &[bytes, address] : kept_) {
        driver_.release(blocks_.at(address).block);
        blocks_.erase(address);
    }
    kept_.clear();
    kept_bytes_ = 0;
}

}  // namespace halyard::gpu
