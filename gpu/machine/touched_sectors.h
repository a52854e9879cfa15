// The sectors of global memory that a launch has touched, and which block touched each last.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace halyard::ptx {

class TouchedSectors {
public:
    // What a sector was before this access.
    enum class Before : uint8_t { untouched, touched_by_others, touched_by_block };

    // Notes that block number `block` (not 0) touches a sector.
    Before touch(uint64_t sector, uint64_t block) {
        if (2 * (used_ + 1) > slots_.size()) grow();
        Slot &s = slot(sector);
        if (s.block == block) return Before::touched_by_block;
        const Before before = s.block == 0 ? Before::untouched : Before::touched_by_others;
        used_ += s.block == 0;
        s = {sector, block};
        return before;
    }

private:
    struct Slot {
        uint64_t sector = 0, block = 0;  // block 0: the slot is free
    };

    // Returns the sector's slot, or the free one that it gets.
    Slot &slot(uint64_t sector) {
        const size_t last = slots_.size() - 1;
        size_t at = size_t(sector * 0x9E37'79B9'7F4A'7C15U >> 20) & last;
        while (slots_[at].block != 0 && slots_[at].sector != sector)
            at = (at + 1) & last;
        return slots_[at];
    }
    void grow() {
        constexpr size_t first = 1024;
        std::vector<Slot> old(slots_.empty() ? first : 2 * slots_.size());
        old.swap(slots_);
        for (const Slot &s : old)
            if (s.block != 0) slot(s.sector) = s;
    }

    std::vector<Slot> slots_;  // a power of 2 of them
    size_t used_ = 0;
};

}  // namespace halyard::ptx
