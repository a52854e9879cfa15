#include "gpu/machine/shadow.h"

namespace halyard::ptx {

void Shadow::split() {
    std::vector<Cell> bytes(bytes_);
    for (uint64_t k = 0; k < bytes_; k++)
        bytes[k] = cells_[k >> 2];
    cells_ = std::move(bytes);
    shift_ = 0;
}

void Shadow::write_from_host(uint64_t at, uint64_t bytes) {
    if (bytes == 0) return;
    // The last cell of a buffer may stand for fewer than four bytes.
    const bool to_the_end = at % 4 == 0 && at + bytes == bytes_;
    Cell *c = to_the_end ? &cells_[at >> shift_] : cell(at, bytes);
    for (Cell *end = c + count(at, bytes); c < end; c++)
        *c = {Stamp::of_host(), {}};
}

bool Shadow::is_written(uint64_t at, uint64_t bytes) {
    for (uint64_t k = at; k < at + bytes; k++)
        if (writer(k).is_nobody()) return false;
    return true;
}

void Shadow::copy(uint64_t at, Shadow &from, uint64_t from_at, uint64_t bytes) {
    if (((at | from_at | bytes) & 3) != 0) {
        if (shift_ != 0) split();
        if (from.shift_ != 0) from.split();
    }
    const uint64_t step = shift_ != 0 && from.shift_ != 0 ? 4 : 1;
    if (step == 1 && shift_ != 0) split();
    for (uint64_t k = 0; k < bytes; k += step) {
        const bool written = !from.writer(from_at + k).is_nobody();
        cells_[(at + k) >> shift_] = {written ? Stamp::of_host() : Stamp(), {}};
    }
}

}  // namespace halyard::ptx
