// Runs a program as the chip would: what it computes, what is wrong with it, and how long it takes.
// Cycles are the model's, see cost.h and the profile; no Ascend chip has been measured.
#pragma once
#include <array>

#include "ascend/passes/issue.h"
#include "ascend/simulator/memory.h"
#include "ascend/simulator/walker.h"

namespace halyard::dv {

struct SimOptions {
    // computes; without it only time is simulated, and scalar loads give 0
    bool functional = true;
    bool races = true;   // looks for races
    bool timing = true;  // without it only the program order runs
    // writes appear when they finish, so that a missing flag gives wrong numbers, too
    bool in_time_order = false;
    int timeline_cores = 1;  // of so many cores every instruction is kept
};

// What a core did, in cycles and bytes.
struct CoreStats {
    double cycles = 0;  // until its last block ended
    std::array<double, pipe_count> busy = {};
    // the scalar unit waited for a place in the pipe's queue
    std::array<double, pipe_count> queue_full = {};
    // busy, by kind
    double cube_fp16 = 0, cube_int8 = 0, vector_fp16 = 0, vector_fp32 = 0, vector_int32 = 0,
           vector_misc = 0;
    // of ubuf's banks
    double group_clash = 0, bank_clash = 0;
    double scalar_loads = 0, scalar_stores = 0;
    std::array<double, scope_count> read = {}, written = {};  // bytes; GM's stand below
    double cube_read = 0, cube_written = 0;                   // bytes of l0c by mmads
    double gm_read = 0, gm_write = 0, l2_read = 0, l2_write = 0;
    double instructions = 0;
};

// An instruction on a pipe, in cycles.
struct Event {
    const Instr *instr = nullptr;
    Pipe pipe = Pipe::s;
    double start = 0, end = 0;
};
using CoreTimeline = std::vector<Event>;

struct SimResult {
    std::vector<Issue> issues;
    double cycles = 0, us = 0;  // of the slowest core
    int64_t blocks = 0;
    int cores = 0;                 // that had work
    std::vector<CoreStats> stats;  // one per core that had work
    std::vector<CoreTimeline> timelines;
    bool ok() const { return !has_errors(issues); }
};

// `gm` in the order of Program::tensors, `scalars` in that of Program::scalars. Cores run side by
// side on the pool; the result doesn't depend on how many. Mistakes in the program are issues;
// AttrError is for wrong arguments: sizes, counts, unplaced buffers.
SimResult simulate(const Program &p, const std::vector<Binding> &gm, const Scalars &scalars = {},
                   const SimOptions &options = {});

}  // namespace halyard::dv
