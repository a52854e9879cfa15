// Shadow memory: who last wrote and read each byte, from which follow races and uninitialised
// reads.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

namespace halyard::ptx {

// A thread at a moment: the run of its block, counted over all launches, the barriers that the
// block has passed, and the thread's number in the block. Order: run, phase, thread, flags.
class Stamp {
public:
    static constexpr uint64_t several_threads = 1, several_blocks = 2;
    static constexpr unsigned thread_bits = 10, flag_bits = 2;
    static constexpr unsigned phase_at = thread_bits + flag_bits, run_at = 32;

    Stamp() = default;  // nobody
    Stamp(uint64_t run, uint64_t phase, uint64_t thread)
        : bits_(run << run_at | (phase << phase_at & 0xFFFF'FFFF) | thread << flag_bits) {}
    // Returns the stamp of what the host has written: before every launch.
    static Stamp of_host() { return {1, 0, 0}; }

    bool is_nobody() const { return bits_ == 0; }
    uint64_t run() const { return bits_ >> run_at; }
    uint64_t thread() const { return bits_ >> flag_bits & ((1U << thread_bits) - 1); }
    bool same_phase(Stamp o) const { return (bits_ ^ o.bits_) >> phase_at == 0; }
    bool same_thread(Stamp o) const { return (bits_ ^ o.bits_) >> flag_bits == 0; }
    bool has(uint64_t flag) const { return (bits_ & flag) != 0; }
    Stamp with(uint64_t flag) const {
        Stamp s = *this;
        s.bits_ |= flag;
        return s;
    }

private:
    uint64_t bits_ = 0;
};

// What an access conflicts with; of several the last one counts.
enum class Conflict : uint8_t { none, unwritten, with_write, with_read };

// Shadow of a buffer. A cell stands for four bytes until an access needs single bytes.
class Shadow {
public:
    explicit Shadow(uint64_t bytes) : bytes_(bytes), cells_((bytes + 3) / 4) {}

    // Notes an access of the thread, and returns what it conflicts with. `first_run` is the run of
    // the launch's first block: what came before is ordered.
    Conflict read(uint64_t at, uint32_t bytes, Stamp by, uint64_t first_run) {
        Conflict worst = Conflict::none;
        for (Cell *c = cell(at, bytes), *end = c + count(at, bytes); c < end; c++) {
            worst = std::max(worst, c->read_by(by, first_run));
        }
        return worst;
    }
    Conflict write(uint64_t at, uint32_t bytes, Stamp by, uint64_t first_run) {
        Conflict worst = Conflict::none;
        for (Cell *c = cell(at, bytes), *end = c + count(at, bytes); c < end; c++) {
            worst = std::max(worst, c->written_by(by, first_run));
        }
        return worst;
    }

    void write_from_host(uint64_t at, uint64_t bytes);
    // Returns true if each of these bytes has been written.
    bool is_written(uint64_t at, uint64_t bytes);
    // Copies which bytes are written.
    void copy(uint64_t at, Shadow &from, uint64_t from_at, uint64_t bytes);
    Stamp writer(uint64_t at) const { return cells_[at >> shift_].writer; }
    Stamp reader(uint64_t at) const { return cells_[at >> shift_].reader; }

private:
    struct Cell {
        Stamp writer, reader;

        Conflict read_by(Stamp by, uint64_t first_run) {
            Conflict found = Conflict::none;
            if (writer.run() >= first_run) {
                const bool other_block = writer.run() != by.run();
                if (other_block || (writer.same_phase(by) && !writer.same_thread(by)))
                    found = Conflict::with_write;
            } else if (writer.is_nobody()) {
                found = Conflict::unwritten;
            }
            if (reader.run() < first_run) {
                reader = by;
            } else if (reader.run() != by.run()) {
                reader = by.with(Stamp::several_blocks);
            } else if (!reader.same_phase(by)) {
                reader = reader.has(Stamp::several_blocks) ? by.with(Stamp::several_blocks) : by;
            } else if (!reader.same_thread(by)) {
                reader = reader.with(Stamp::several_threads);
            }
            return found;
        }
        Conflict written_by(Stamp by, uint64_t first_run) {
            Conflict found = Conflict::none;
            if (writer.run() >= first_run &&
                (writer.run() != by.run() || (writer.same_phase(by) && !writer.same_thread(by))))
                found = Conflict::with_write;
            if (reader.run() >= first_run) {
                const bool others = reader.has(Stamp::several_threads) || !reader.same_thread(by);
                if (reader.has(Stamp::several_blocks) || reader.run() != by.run() ||
                    (reader.same_phase(by) && others))
                    found = Conflict::with_read;
            }
            writer = by;
            return found;
        }
    };

    Cell *cell(uint64_t at, uint64_t bytes) {
        if (shift_ != 0 && ((at | bytes) & 3) != 0) split();
        return &cells_[at >> shift_];
    }
    uint64_t count(uint64_t at, uint64_t bytes) const {
        return ((at + bytes - 1) >> shift_) - (at >> shift_) + 1;
    }
    void split();  // into cells of one byte

    uint64_t bytes_;
    unsigned shift_ = 2;
    std::vector<Cell> cells_;
};

}  // namespace halyard::ptx
