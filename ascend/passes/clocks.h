// Vector clocks of the pipes of one core, and a race detector for the accesses that they must
// order.
#pragma once
#include <map>
#include <memory>

#include "ascend/passes/footprint.h"
#include "ascend/simulator/check.h"

namespace halyard::dv {

// clock[p] is the number of the last instruction of pipe p that is known to have finished.
using Clock = std::array<uint32_t, pipe_count>;
void join(Clock &into, const Clock &other);

// Returns true if two instructions of `pipe` that access the same bytes need no barrier between
// them. Results of the vector unit need one before they are read or overwritten; overlapping
// destinations of MTE2 and of MTE3 need one (DOC). A write after a read needs none.
bool in_order(Pipe pipe, bool earlier_writes, bool later_writes);

// Finds E-RACE: two accesses to the same 32 B, one of them a write, that no flag, barrier or pipe
// orders. In GM it follows only tensors that the program writes, and the bytes of the blocks that a
// burst covers in part.
class Races {
public:
    Races(const Program &p, const std::vector<int64_t> &tensor_bytes);
    // Adds the accesses of an instruction that starts at clock `now` and is number `epoch` of its
    // pipe.
    void access(const Step &s, const Clock &now, uint32_t epoch, IssueLog &log);

private:
    struct Granule {
        uint32_t write = 0, reads[pipe_count] = {};
        Pipe writer = Pipe::s;
    };
    // The granules of one memory, in pages that are allocated at their first use: a core accesses
    // only its share of a tensor.
    class Pages {
    public:
        explicit Pages(int64_t bytes = 0) : pages_(size_t((bytes / block_bytes + page) / page)) {}
        Granule &operator[](int64_t granule) {
            auto &p = pages_[size_t(granule / page)];
            if (!p) p = std::make_unique<Granule[]>(page);
            return p[size_t(granule % page)];
        }

    private:
        static constexpr int64_t page = 512;
        std::vector<std::unique_ptr<Granule[]>> pages_;
    };
    // An access to a part of a block in GM.
    struct Part {
        int64_t begin, end;  // bytes of the tensor
        Pipe pipe;
        uint32_t epoch;
        bool writes;
    };
    // Adds the accesses to all granules of operand `k`.
    void touch_all(const Step &s, int k, bool writes, const Clock &now, uint32_t epoch,
                   IssueLog &log);
    void touch(Granule &g, const Step &s, const Location &p, int64_t byte, bool writes,
               const Clock &now, uint32_t epoch, IssueLog &log);
    // Adds an access to the bytes from `begin` to `end` of a block in GM whose granule is `g`.
    void touch_bytes(const Granule &g, const Step &s, const Location &p, int64_t begin, int64_t end,
                     bool writes, const Clock &now, uint32_t epoch, IssueLog &log);
    void conflict(const Step &s, const Location &p, int64_t byte, Pipe other, uint32_t epoch,
                  bool other_writes, bool writes, IssueLog &log);

    const Program &program_;
    Pages chip_[scope_count];
    // One per tensor; empty if the program doesn't write it.
    std::vector<std::optional<Pages>> gm_;
    std::map<std::pair<int, int64_t>, std::vector<Part>> parts_;  // by tensor and block
    std::vector<const Instr *> history_[pipe_count];              // by epoch
    std::vector<Run> runs_;
};

}  // namespace halyard::dv
