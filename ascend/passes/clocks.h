// Who is known to come after whom: vector clocks of the pipes of one core, and the accesses to its
// memories they must order.
#pragma once
#include <map>
#include <memory>

#include "ascend/passes/footprint.h"
#include "ascend/simulator/check.h"

namespace halyard::dv {

// clock[p]: of pipe p's instructions, the last that is known to have finished.
using Clock = std::array<uint32_t, pipe_count>;
void join(Clock &into, const Clock &other);

// May an instruction of `pipe` follow an earlier one of the same pipe that touched the same bytes,
// without a barrier? Vector results need one before they are read or overwritten; overlapping
// destinations of MTE2 and of MTE3 need one (DOC). Reading first is safe.
bool in_order(Pipe pipe, bool earlier_writes, bool later_writes);

// E-RACE: two accesses to the same 32 B, one of them a write, that no flag, barrier or pipe orders.
// Of GM only tensors that the program writes are followed, and of unaligned bursts only the blocks
// they cover.
class Races {
public:
    Races(const Program &p, const std::vector<int64_t> &tensor_bytes);
    // Of an instruction that starts with what `now` knows; `epoch` counts the instructions of its
    // pipe.
    void access(const Step &s, const Clock &now, uint32_t epoch, IssueLog &log);

private:
    struct Granule {
        uint32_t write = 0, reads[pipe_count] = {};
        Pipe writer = Pipe::s;
    };
    // Granules of one memory, in pages that exist from their first use: a core touches its share of
    // a tensor only.
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
    void touch(Granule &g, const Step &s, const Place &p, int64_t byte, bool writes,
               const Clock &now, uint32_t epoch, IssueLog &log);
    void conflict(const Step &s, const Place &p, int64_t byte, Pipe other, uint32_t epoch,
                  bool other_writes, bool writes, IssueLog &log);

    const Program &program_;
    Pages chip_[scope_count];
    // by tensor; nothing where a program cannot race in it
    std::vector<std::optional<Pages>> gm_;
    std::vector<const Instr *> history_[pipe_count];  // by epoch
    std::vector<Run> runs_;
};

}  // namespace halyard::dv
