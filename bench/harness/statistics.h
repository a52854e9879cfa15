// Statistics of timings. Nothing here knows a kernel or a clock, so that tests feed it noise of
// their own.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace halyard::bench {

double median(std::vector<double> values);
double least(const std::vector<double> &values);

struct Interval {
    double estimate = 0, low = 0, high = 0;
};

// The centre of symmetrically distributed values: the Hodges-Lehmann estimate, with the interval of
// Wilcoxon's signed-rank test, which holds for any such distribution, however heavy its tails.
// `confidence` below 1; too few values for it (fewer than 8 for 0.99) give an infinite interval. No
// values: NaN.
Interval centre_of(const std::vector<double> &values, double confidence);

// How the times of A stand against those of B, taken in the same rounds, in random order within
// each.
struct Comparison {
    enum Answer : int8_t { slower = -1, cannot_tell = 0, faster = 1 };
    static constexpr double confidence = 0.99;
    Answer answer = cannot_tell;          // A is ...
    double ratio = 1, low = 0, high = 0;  // time of A over time of B, and its interval
    // of the control: 0.004 = the same kernel differs from itself by up to 0.4 %
    double noise = 0;
    std::string refused = {};  // why there is no answer, whatever the times say
    void refuse(const std::string &why);
};

// `control`: B again, in the same rounds. A and B alike, swapping their times in any round changes
// nothing, as the order was random: so log(a/b) is symmetric about 0, whatever bursts, drifts and
// neighbours do to the times. The answer is "faster" or "slower" where the interval leaves 1 out
// and the ratio is further from 1 than all that the control's interval reaches. Times in any unit.
Comparison compare(const std::vector<double> &a, const std::vector<double> &b,
                   const std::vector<double> &control);

}  // namespace halyard::bench
