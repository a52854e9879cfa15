// The table that `halyard bench` prints: a line for each benchmark case.
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
    // Returns the cell of a case that has times; "" leaves it empty.
    std::function<std::string(const BenchmarkCase &)> text;
    bool left = false;  // aligned left
};

// Returns the columns: time, work per second, share of the roof, error, and ratios to the peers
// among the cases.
std::vector<Column> columns_of(const std::deque<BenchmarkCase> &cases, const Roofline &roofline,
                               const Expected &expected);

// Prints the table. Each column is as wide as its widest text. A case that violates its contract
// has the violation in place of all columns.
void print_table(const std::deque<BenchmarkCase> &cases, const std::vector<Column> &columns);

std::string time_text(double seconds);  // "73.57 us"
// Returns `value` in a printf format.
std::string text_of(const char *format, double value);

}  // namespace halyard::bench
