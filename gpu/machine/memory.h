// Device memory: buffers at addresses that the host can't touch.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "gpu/machine/shadow.h"

namespace halyard::ptx {

// A buffer of global memory, or the shared memory of a block.
struct Buffer {
    // Its bytes count as unwritten.
    Buffer(uint64_t number, uint64_t address, uint64_t size)
        : id(number), base(address), bytes(size), data(size, unwritten), shadow(size) {}

    bool holds(uint64_t address, uint64_t size) const {
        return address >= base && size <= bytes && address - base <= bytes - size;
    }

    static constexpr uint8_t unwritten = 0xFF;  // NaN as f32 and f64
    uint64_t id, base, bytes;
    std::vector<uint8_t> data;
    Shadow shadow;
};

class Memory {
public:
    // An address that no process of x86-64 or arm64 can access.
    static constexpr uint64_t first_address = uint64_t(1) << 55;

    // Throws MemoryError if the device would hold more than `limit` bytes.
    uint64_t allocate(uint64_t bytes);
    // Returns false if no buffer begins there. A freed buffer's addresses are never used again.
    bool free(uint64_t address);
    void set_limit(uint64_t bytes) { limit_ = bytes; }
    uint64_t limit() const { return limit_; }
    uint64_t used() const { return used_; }
    size_t buffers() const { return live_.size(); }

    // Returns the buffer that the address is in or behind; null if there is none.
    Buffer *near(uint64_t address);
    // Returns the buffer that holds these bytes; null if there is none.
    Buffer *find(uint64_t address, uint64_t bytes) {
        Buffer *b = near(address);
        return b && b->holds(address, bytes) ? b : nullptr;
    }
    // Returns true if the address is in a buffer that has been freed.
    bool was_freed(uint64_t address) const;

private:
    std::map<uint64_t, std::unique_ptr<Buffer>> live_;  // by address
    std::map<uint64_t, uint64_t> freed_;                // bytes by address
    uint64_t next_ = first_address, count_ = 0, used_ = 0;
    uint64_t limit_ = uint64_t(16) << 30;
};

}  // namespace halyard::ptx
