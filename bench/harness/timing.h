// Times benchmark cases in interleaved rounds, with Google Benchmark.
#pragma once
#include <deque>

#include "bench/harness/benchmark_case.h"

namespace halyard::bench {

struct Timing {
    int rounds = 0;       // 0 means 15 for a table, 51 for a comparison of two
    double min_time = 0;  // seconds of each case in each round; 0 means 0.01 and 0.005
};

// Statistics of the rounds.
struct Rounds {
    int kept = 0, noisy = 0;  // noisy: of those kept
    int repeated = 0;         // discarded, because other processes took time
    // False if other processes used all cores. A peer in its own process counts as one of them.
    bool left_a_core = true;
    long switches = 0;  // involuntary context switches
    // Over all rounds. `steal` and `pressure` are shares, `steal` that of the worst core.
    double seconds = 0, steal = 0, pressure = 0;
};

// Times each case once in each round, in random order. A first round, which isn't counted, finds
// how many calls fill min_time. Noisy rounds are repeated, up to half as many as there are rounds.
// Cases that violate their contract are not timed.
Rounds measure(std::deque<BenchmarkCase> &cases, const Timing &timing);

}  // namespace halyard::bench
