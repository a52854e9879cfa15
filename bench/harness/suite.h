// Runs a suite (suite_file.h): times whole calls against all peers and summarises each group.
#pragma once
#include "bench/harness/benchmark_case.h"
#include "bench/harness/suite_file.h"
#include "bench/harness/timing.h"

namespace halyard::bench {

struct SuiteOptions {
    // `group` selects groups whose title contains it; `out` is a Markdown file for the results.
    std::string name, group, out;
    Selection selection;  // kernels aren't selected: each op is called whole
    Timing timing;
    double wait_quiet = 0;  // seconds
};
// Times every problem, prints the results and a summary of the groups, and writes `out`. Returns
// false if a result violates its contract. A problem that fails, or whose op doesn't exist, is
// printed and counted as missing.
bool run_suite(const SuiteOptions &o);

}  // namespace halyard::bench
