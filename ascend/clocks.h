// Who is known to come after whom: vector clocks of the pipes of one core, and the accesses to its memories they must order.
#pragma once
#include <map>

#include "ascend/check.h"
#include "ascend/footprint.h"

namespace halyard::dv {

// clock[p]: of pipe p's instructions, the last that is known to have finished.
using Clock = std::array<uint32_t, pipe_count>;
void join(Clock &into, const Clock &other);

// May an instruction of `pipe` follow an earlier one of the same pipe that touched the same bytes, without a barrier? Vector results
// need one before they are read or overwritten; overlapping destinations of MTE2 and of MTE3 need one (DOC). Reading first is safe.
bool in_order(Pipe pipe, bool earlier_writes, bool later_writes);

// E-RACE: two accesses to the same 32 B, one of them a write, that no flag, barrier or pipe orders. Of GM only tensors that the
// program writes are followed, and of unaligned bursts only the blocks they cover.
class Races {
public:
    Races(const Program &p, const std::vector<int64_t> &tensor_bytes);
    // Of an instruction that starts with what `now` knows; `epoch` counts the instructions of its pipe.
    void access(const Step &s, const Clock &now, uint32_t epoch, IssueLog &log);

private:
    struct Granule {
        uint32_t write = 0, reads[pipe_count] = {};
        Pipe writer = Pipe::s;
    };
    struct Operation {
        const Instr *instr;
        uint32_t epoch;
    };
    void touch(Granule &g, const Step &s, const Place &p, int64_t byte, bool writes, const Clock &now, uint32_t epoch, IssueLog &log);
    void conflict(const Step &s, const Place &p, int64_t byte, Pipe other, uint32_t epoch, bool other_writes, bool writes, IssueLog &log);

    const Program &program_;
    std::vector<Granule> chip_[scope_count];
    std::vector<std::vector<Granule>> gm_;            // by tensor; empty where a program can't race in it
    std::vector<const Instr *> history_[pipe_count];  // by epoch
    std::vector<Run> runs_;
};

}  // namespace halyard::dv
