// Comparison: which of the subjects of a table is faster, beyond doubt.
#pragma once
#include <deque>
#include <string>
#include <vector>

#include "bench/harness/benchmark_case.h"

namespace halyard::bench {

// The subject that the others with as many threads are compared with: the dispatched kernel. Null
// where its time is missing.
const BenchmarkCase *dispatched_of(const std::deque<BenchmarkCase> &cases, int threads);

// Fills in `relative`, for every timed subject but the chosen ones.
void compare_with_dispatched(std::deque<BenchmarkCase> &cases);

// "slower by 1.15 (1.12..1.18)", "cannot tell (0.98..1.03)", "cannot tell: no idle core"
std::string text_of(const Comparison &c);

std::string noise_text(const Comparison &c);  // "noise 0.4 %"

// A line for each number of threads for which another kernel is faster than the chosen one.
std::vector<std::string> regret_lines(const std::deque<BenchmarkCase> &cases);

// --compare A B, among subjects that were made for these two labels: A again with the label that
// was asked for, then B, for each number of threads. A label may end in "+5%": that kernel and a
// loop that takes 5 % of its time. "chosen" is the dispatched kernel. Throws DispatchError for a
// label that no subject has and for a kernel that breaks its contract.
std::deque<BenchmarkCase> ab_cases(const std::string &op, const std::deque<BenchmarkCase> &cases,
                                   const std::vector<std::string> &labels);

// Fills in `relative` of each pair's first.
void compare_pairs(std::deque<BenchmarkCase> &pairs);

// Takes all answers back: "cannot tell: no idle core". What was measured stays.
void refuse_answers(std::deque<BenchmarkCase> &cases, const std::string &why);

// "wide/avx512+5%" is wide/avx512 and 0.05. Throws AttrError for a share that is no number.
std::pair<std::string, double> planted_slowdown(const std::string &op, const std::string &label);

}  // namespace halyard::bench
