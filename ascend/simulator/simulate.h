// Simulates a program: computes its results, checks it, and estimates its time. Cycles are the
// model's (cost.h and the chip's profile); no Ascend chip has been measured.
#pragma once
#include <array>

#include "ascend/passes/issue.h"
#include "ascend/simulator/memory.h"
#include "ascend/simulator/walker.h"

namespace halyard::dv {

struct SimOptions {
    // Computes results. If false, only time is simulated, and scalar loads return 0.
    bool functional = true;
    bool races = true;   // looks for races
    bool timing = true;  // simulates time; if false, only runs in program order
    // Makes writes visible when they finish, so that a missing flag gives wrong results.
    bool in_time_order = false;
    int timeline_cores = 1;  // the number of cores whose timelines are recorded
};

// The statistics of a core, in cycles and bytes.
struct CoreStats {
    double cycles = 0;  // until the end of its last block
    std::array<double, pipe_count> busy = {};
    // Cycles during which the scalar unit waited because the pipe's queue was full.
    std::array<double, pipe_count> queue_full = {};
    // Busy cycles by kind.
    double cube_fp16 = 0, cube_int8 = 0, vector_fp16 = 0, vector_fp32 = 0, vector_int32 = 0,
           vector_misc = 0;
    // Cycles lost by conflicts of ubuf's banks.
    double group_clash = 0, bank_clash = 0;
    double scalar_loads = 0, scalar_stores = 0;
    std::array<double, scope_count> read = {}, written = {};  // bytes, without GM
    double cube_read = 0, cube_written = 0;                   // bytes of l0c, by mmads
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
    double cycles = 0, us = 0;  // the slowest core's
    int64_t blocks = 0;
    int cores = 0;                 // the number of cores that had work
    std::vector<CoreStats> stats;  // one per core that had work
    std::vector<CoreTimeline> timelines;
    bool ok() const { return !has_errors(issues); }
};

// Simulates a program. `gm` is in the order of Program::tensors, `scalars` in that of
// Program::scalars. Cores run in parallel on the thread pool; the result doesn't depend on the
// number of threads. Errors of the program are issues. Throws AttrError for wrong arguments: sizes,
// counts, buffers without addresses.
SimResult simulate(const Program &p, const std::vector<Binding> &gm, const Scalars &scalars = {},
                   const SimOptions &options = {});

}  // namespace halyard::dv
