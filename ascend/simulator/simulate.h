// Simulates a program: computes its results, checks it, and estimates its time. Cycles are the
// model's (cost.h and the chip's profile); no Ascend chip has been measured.
#pragma once
#include <vector>

#include "ascend/passes/issue.h"
#include "ascend/simulator/core_stats.h"
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
