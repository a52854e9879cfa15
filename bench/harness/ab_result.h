// Interleaved timing: kernels are measured in the same rounds, so that disturbances by other
// processes affect all of them alike.
#pragma once
#include <functional>

#include "bench/harness/statistics.h"

namespace halyard::bench {

// Returns the seconds of a call for each of `runs` and each round: times[run][round]. A round times
// every run once, in random order, for as many calls as fill `min_time` seconds.
std::vector<std::vector<double>> interleaved(const std::vector<std::function<void()>> &runs,
                                             int rounds, double min_time);

// The A/B result of a kernel against its baseline, with the baseline's own noise.
struct ABResult {
    int rounds = 0;
    // In seconds of a call. `spread` is (third quartile - first quartile) / median.
    double median = 0, min = 0, spread = 0;
    Comparison against;       // the kernel against the baseline
    bool left_a_core = true;  // false if other processes used all cores meanwhile
};
// Times `run` against `baseline`, with `baseline` a second time as control. `rounds` is at least 8;
// fewer can't give an answer.
ABResult run_ab_test(const std::function<void()> &run, const std::function<void()> &baseline,
                     int rounds, double min_time);

}  // namespace halyard::bench
