// The table that `halyard bench` prints: a line per subject, a column per question.
#pragma once
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "bench/harness/benchmark_case.h"
#include "bench/harness/roofline.h"

namespace halyard::bench {

struct Column {
    std::string title;
    // of a subject that has times; "" leaves the place empty
    std::function<std::string(const BenchmarkCase &)> text;
    bool left = false;  // aligned
};

// Time, work per second, the share of the roof, error, and the ratios to the peers among the
// subjects.
std::vector<Column> columns_of(const std::deque<BenchmarkCase> &cases, const Roofline &roofline,
                               const Expected &expected);

// Columns are as wide as their widest text. A subject that broke its contract has its breach in
// place of all of them.
void print_table(const std::deque<BenchmarkCase> &cases, const std::vector<Column> &columns);

std::string time_text(double seconds);  // "73.57 us"
std::string text_of(const char *format, double value);

}  // namespace halyard::bench
