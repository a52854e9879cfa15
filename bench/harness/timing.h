// Timing subjects in interleaved rounds, on Google Benchmark.
#pragma once
#include <deque>

#include "bench/harness/benchmark_case.h"

namespace halyard::bench {

struct Timing {
    int rounds = 0;       // 0: 15 for a table, 51 for a comparison of two
    double min_time = 0;  // seconds of each subject in each round; 0: 0.01 and 0.005
};

// How the rounds went.
struct Rounds {
    int kept = 0, noisy = 0;  // disturbed: of those kept
    int repeated = 0;         // thrown away, because others took their time
    // others did, as far as is known: a peer that times itself counts as one of them
    bool left_a_core = true;
    long switches = 0;  // involuntary context switches
    // of all rounds; stolen, waiting: shares, stolen of the worst core
    double seconds = 0, steal = 0, pressure = 0;
};

// Each round times each subject once, in random order. A first round finds out how many calls fill
// min_time and isn't counted. Rounds that others disturbed are repeated, up to half as many as
// there are. Subjects that broke their contract get no time.
Rounds measure(std::deque<BenchmarkCase> &cases, const Timing &timing);

}  // namespace halyard::bench
