// Statistics of timings. They are independent of kernels and clocks, so that tests can use
// synthetic noise.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace halyard::bench {

// Return the median and the minimum of at least one value.
double median(std::vector<double> values);
double least(const std::vector<double> &values);

struct Interval {
    double estimate = 0, low = 0, high = 0;
};

// Returns the centre of symmetrically distributed values: the Hodges-Lehmann estimate, with the
// confidence interval of Wilcoxon's signed-rank test. The interval holds for any symmetric
// distribution, however heavy its tails. `confidence` is below 1. Too few values (fewer than 8 for
// 0.99) give an infinite interval, none give NaN.
Interval centre_of(const std::vector<double> &values, double confidence);

// The comparison of A's times with B's, taken in the same rounds, in random order within each.
struct Comparison {
    enum Answer : int8_t { slower = -1, cannot_tell = 0, faster = 1 };
    static constexpr double confidence = 0.99;
    Answer answer = cannot_tell;          // A is ... than B
    double ratio = 1, low = 0, high = 0;  // time of A over time of B, and its interval
    // The control run's noise: 0.004 means that the same kernel differs from itself by up to 0.4 %.
    double noise = 0;
    std::string no_answer = {};  // why there is no answer, whatever the times are
    // Replaces the answer by cannot_tell, with the reason.
    void withdraw(const std::string &why);
};

// Compares times that were taken in the same rounds; `control` is a second measurement of B. If A
// and B are equal, the random order makes log(a/b) symmetric about 0, whatever bursts and drifts
// the times have. The answer is "faster" or "slower" if the interval excludes 1 and the ratio is
// farther from 1 than the control's interval reaches. Times have any unit.
Comparison compare(const std::vector<double> &a, const std::vector<double> &b,
                   const std::vector<double> &control);

}  // namespace halyard::bench
