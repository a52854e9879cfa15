// Comparisons between the benchmark cases of a table, with confidence intervals.
#pragma once
#include <deque>
#include <string>
#include <vector>

#include "bench/harness/benchmark_case.h"

namespace halyard::bench {

// Returns the dispatched kernel with that many threads, which the others are compared with. Returns
// null if it has no time.
const BenchmarkCase *dispatched_of(const std::deque<BenchmarkCase> &cases, int threads);

// Fills in `relative` for every timed case; for dispatched ones it compares the control run.
void compare_with_dispatched(std::deque<BenchmarkCase> &cases);

// Returns the comparison as text: "slower by 1.15 (1.12..1.18)", "cannot tell (0.98..1.03)",
// "cannot tell: no idle core".
std::string text_of(const Comparison &c);

std::string noise_text(const Comparison &c);  // "noise 0.4 %"

// Returns a line for each number of threads with which another kernel is faster than the dispatched
// one.
std::vector<std::string> regret_lines(const std::deque<BenchmarkCase> &cases);

// Returns the pairs of --compare A B, for each number of threads, from cases that were made for
// these two labels. The label of A is as it was typed. A label may end in "+5%": that kernel
// followed by a loop that takes 5 % of its time. "chosen" is the dispatched kernel. Throws
// DispatchError for a label that no case has and for a kernel that violates its contract.
std::deque<BenchmarkCase> ab_cases(const std::string &op, const std::deque<BenchmarkCase> &cases,
                                   const std::vector<std::string> &labels);

// Fills in `relative` of the first case of each pair.
void compare_pairs(std::deque<BenchmarkCase> &pairs);

// Replaces all answers by "cannot tell: " and the reason. The measurements stay.
void withdraw_answers(std::deque<BenchmarkCase> &cases, const std::string &why);

// Splits "wide/avx512+5%" into wide/avx512 and 0.05. Throws AttrError if the share is not a number.
std::pair<std::string, double> planted_slowdown(const std::string &op, const std::string &label);

}  // namespace halyard::bench
