// Timing kernels beside each other, so that what a machine does meanwhile happens to all of them.
#pragma once
#include <functional>

#include "bench/harness/statistics.h"

namespace halyard::bench {

// Seconds of a call of each of `runs`, one for each round: times[run][round]. A round times every
// one, in random order, for as many calls as fill `min_time` seconds.
std::vector<std::vector<double>> interleaved(const std::vector<std::function<void()>> &runs,
                                             int rounds, double min_time);

// A kernel beside the one it would replace, and beside that one's own noise.
struct ABResult {
    int rounds = 0;
    // seconds of a call; spread = (third quartile - first) / median
    double median = 0, min = 0, spread = 0;
    Comparison against;       // the standard
    bool left_a_core = true;  // others did, meanwhile
};
// rounds >= 8, or nothing can be told
ABResult run_ab_test(const std::function<void()> &run, const std::function<void()> &baseline,
                     int rounds, double min_time);

}  // namespace halyard::bench
