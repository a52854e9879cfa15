// The blocks of a device's memory. Released ones are kept and used again at once: work is done in
// the order in which it was given, so nothing of a block's former use can follow.
#pragma once
#include <map>

#include "registry/gpu/driver.h"

namespace halyard::gpu {

class Pool {
public:
    // Throws MemoryErrors in the name of the device.
    Pool(Driver &driver, std::string device) : driver_(driver), device_(std::move(device)) {}
    // Returns all blocks to the driver.
    ~Pool();
    Pool(const Pool &) = delete;
    Pool &operator=(const Pool &) = delete;

    // Throws as Gpu::allocate().
    Address allocate(size_t bytes);
    // Ignores addresses at which no block in use begins.
    void release(Address block) noexcept;
    // Returns the place of these bytes; no block if they aren't all in one block that is in use.
    DevicePlace find(Address address, size_t bytes) const;
    // Returns kept blocks to the driver.
    void trim() noexcept;

    size_t live_bytes() const { return live_bytes_; }
    size_t kept_bytes() const { return kept_bytes_; }
    int64_t driver_allocations() const { return driver_allocations_; }

private:
    struct Owned {
        DeviceBlock block;
        bool in_use = true;
    };

    Address take_kept(size_t bytes, size_t most);
    Address allocate_anew(size_t bytes);

    Driver &driver_;
    std::string device_;
    std::map<Address, Owned> blocks_;
    std::multimap<size_t, Address> kept_;  // by size
    size_t live_bytes_ = 0, kept_bytes_ = 0;
    int64_t driver_allocations_ = 0;
};

}  // namespace halyard::gpu
