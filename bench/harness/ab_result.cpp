#include "bench/harness/ab_result.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <random>

#include "bench/harness/system_load.h"

namespace halyard::bench {
namespace {

double seconds_of(const std::function<void()> &run, int calls) {
    const auto from = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; i++)
        run();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - from).count() / calls;
}

int calls_in(const std::function<void()> &run, double min_time) {
    run();
    double once = seconds_of(run, 1);
    if (once < min_time / 8)
        once = seconds_of(run, std::clamp(int(min_time / 8 / std::max(once, 1e-8)), 1, 1 << 20));
    return std::clamp(int(min_time / std::max(once, 1e-9)) + 1, 1, 1 << 24);
}

}  // namespace

std::vector<std::vector<double>> interleaved(const std::vector<std::function<void()>> &runs,
                                             int rounds, double min_time) {
    std::vector<int> calls;
    for (auto &run : runs)
        calls.push_back(calls_in(run, min_time));
    std::vector<std::vector<double>> times(runs.size());
    std::vector<size_t> order(runs.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::mt19937 random(1);
    for (int round = 0; round < rounds; round++) {
        std::shuffle(order.begin(), order.end(), random);
        for (size_t k : order) {
            runs[k]();  // warms caches and branch predictors after another kernel
            times[k].push_back(seconds_of(runs[k], calls[k]));
        }
    }
    return times;
}

ABResult run_ab_test(const std::function<void()> &run, const std::function<void()> &baseline,
                     int rounds, double min_time) {
    const Counters before = count();
    const auto times = interleaved({run, baseline, baseline}, rounds, min_time);
    const bool left_a_core = leaves_a_core(between(before, count()));
    std::vector<double> sorted = times[0];
    std::sort(sorted.begin(), sorted.end());
    ABResult p{rounds,     median(sorted), sorted[0], 0, compare(times[0], times[1], times[2]),
               left_a_core};
    p.spread = (sorted[sorted.size() * 3 / 4] - sorted[sorted.size() / 4]) / p.median;
    return p;
}

}  // namespace halyard::bench
