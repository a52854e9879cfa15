#include "bench/harness/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace halyard::bench {
namespace {

// Returns the critical value of Wilcoxon's signed-rank test: the largest k such that the statistic
// of n values is <= k with a probability of at most `tail`; -1 if there is none.
int64_t critical_rank(size_t n, double tail) {
    constexpr size_t exact_up_to = 60;  // beyond it the normal approximation is within 1 of it
    if (n > exact_up_to) {
        const double mean = double(n) * double(n + 1) / 4;
        const double deviation = std::sqrt(double(n) * double(n + 1) * double(2 * n + 1) / 24);
        double low = -9, high = 0;  // the quantile, by bisection
        while (high - low > 1e-9) {
            const double z = (low + high) / 2;
            (std::erfc(-z / std::sqrt(2)) / 2 < tail ? low : high) = z;
        }
        return int64_t(std::floor(mean + deviation * low - 0.5));
    }
    std::vector<double> ways(n * (n + 1) / 2 + 1, 0);  // in how many ways ranks have each sum
    ways[0] = 1;
    for (size_t rank = 1; rank <= n; rank++) {
        for (size_t sum = ways.size() - 1; sum >= rank; sum--)
            ways[sum] += ways[sum - rank];
    }
    int64_t k = -1;
    for (double below = ways[0] * std::exp2(-double(n)); below <= tail;
         below += ways[size_t(k) + 1] * std::exp2(-double(n)))
        k++;
    return k;
}

std::vector<double> log_ratios(const std::vector<double> &a, const std::vector<double> &b) {
    std::vector<double> logs;
    for (size_t i = 0; i < std::min(a.size(), b.size()); i++)
        logs.push_back(std::log(a[i] / b[i]));
    return logs;
}

}  // namespace

double median(std::vector<double> v) {
    std::sort(v.begin(), v.end());
    return v.size() % 2 ? v[v.size() / 2] : (v[v.size() / 2 - 1] + v[v.size() / 2]) / 2;
}

double least(const std::vector<double> &v) {
    return *std::min_element(v.begin(), v.end());
}

// The Hodges-Lehmann estimate (the median of pairwise means) with its Wilcoxon interval.
Interval centre_of(const std::vector<double> &values, double confidence) {
    constexpr double none = std::numeric_limits<double>::quiet_NaN();
    constexpr double infinite = std::numeric_limits<double>::infinity();
    if (values.empty()) return {none, none, none};
    std::vector<double> means;  // of all pairs, each value with itself included
    for (size_t i = 0; i < values.size(); i++) {
        for (size_t j = i; j < values.size(); j++)
            means.push_back((values[i] + values[j]) / 2);
    }
    std::sort(means.begin(), means.end());
    const int64_t k = critical_rank(values.size(), (1 - confidence) / 2);
    if (k < 0) return {median(means), -infinite, infinite};
    return {median(means), means[size_t(k)], means[means.size() - 1 - size_t(k)]};
}

Comparison compare(const std::vector<double> &a, const std::vector<double> &b,
                   const std::vector<double> &control) {
    const Interval d = centre_of(log_ratios(a, b), Comparison::confidence);
    // `control` is b's code measured again, so its ratio to b shows the noise.
    const Interval control_ratio = centre_of(log_ratios(control, b), Comparison::confidence);
    const double noise = std::max(std::fabs(control_ratio.low), std::fabs(control_ratio.high));
    Comparison c;
    c.ratio = std::exp(d.estimate);
    c.low = std::exp(d.low);
    c.high = std::exp(d.high);
    c.noise = std::expm1(noise);
    if (d.low > 0 && d.estimate > noise) c.answer = Comparison::slower;
    if (d.high < 0 && d.estimate < -noise) c.answer = Comparison::faster;
    return c;
}

void Comparison::withdraw(const std::string &why) {
    answer = cannot_tell;
    no_answer = why;
}

}  // namespace halyard::bench
