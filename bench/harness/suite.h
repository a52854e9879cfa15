// Running a suite (suite_file.h): whole calls beside all peers, and what each group came to.
#pragma once
#include "bench/harness/benchmark_case.h"
#include "bench/harness/suite_file.h"
#include "bench/harness/timing.h"

namespace halyard::bench {

struct SuiteOptions {
    // group: only those whose title has this in it; out: a Markdown file for the results
    std::string name, group, out;
    Selection selection;  // kernels aren't selected: each op is called whole
    Timing timing;
    double wait_quiet = 0;  // seconds
};
// Times every problem, whole calls beside the peers, prints them and a summary of the groups, and
// writes `out`. False where a result breaks its contract. A problem whose op isn't there, or that
// fails, is named and counts as missed.
bool run_suite(const SuiteOptions &o);

}  // namespace halyard::bench
