// Runs `halyard bench --sample`: draws problems, times their kernels and the peers in interleaved
// rounds, and prints how the ratios and the regrets are distributed.
#pragma once
#include <string>
#include <vector>

#include "bench/harness/benchmark_case.h"
#include "bench/harness/benchmark_json.h"
#include "bench/harness/problem_sampler.h"
#include "bench/harness/timing.h"

namespace halyard::bench {

struct SampleOptions {
    int64_t problems = 0;
    SampleRequest request;
    bool list = false;  // prints the problems as a set of shapes and times nothing
    std::string out, json;
    Selection selection;
    Timing timing;
};

// The result of one problem with one number of threads.
struct SampleOutcome {
    DrawnProblem drawn;
    int threads = 1;
    std::string failure;  // why there is no time; "" if there is one
    std::string chosen;   // label of the dispatched kernel
    double seconds = 0;   // its median
    struct Other {
        std::string label;
        double ratio = 0;  // its time over the chosen kernel's
        bool computes = true;
    };
    std::vector<Other> variants, peers;
    double regret =
        1;  // the chosen kernel's time over that of the best one that is certainly faster
    std::string best;        // label of that one
    bool contended = false;  // other processes used all cores

    // Returns the fastest peer that computes the result; null if there is none.
    const Other *fastest_peer() const;
};

// Returns the outcome of timed cases with that many threads.
SampleOutcome outcome_of_cases(const DrawnProblem &drawn, const std::deque<BenchmarkCase> &cases,
                               int threads);

// Returns the value below which that share of at least one value lies, by nearest rank.
double quantile(std::vector<double> values, double share);

// Returns the tables of the outcomes in Markdown: ratios to peers and regrets for each kind, the
// problems that are worst, and those that failed.
std::string sample_tables(const std::vector<SampleOutcome> &all);

// Returns false if a kernel violates its contract or a problem fails.
bool run_sample(const SampleOptions &o);

}  // namespace halyard::bench
