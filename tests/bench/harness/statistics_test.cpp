// Tests the answers of comparisons with synthetic times: for any noise, two equal kernels are
// rarely distinguished.
#include "bench/harness/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

namespace halyard::bench {
namespace {

using Random = std::mt19937;
// The factor by which the k-th measurement since the start takes longer.
using Noise = std::function<double(int k, Random &random)>;

double uniform(Random &r) {
    return std::uniform_real_distribution<double>(0, 1)(r);
}

double calm(int, Random &r) {
    return 1 + 0.01 * std::normal_distribution<double>()(r);
}
// A distribution without mean and variance.
double heavy_tails(int k, Random &r) {
    return calm(k, r) + 0.02 / std::max(1e-6, uniform(r));
}
double drift(int k, Random &r) {
    return calm(k, r) * (1 + 0.01 * k);
}
// Another process that comes and goes.
double bursts(int k, Random &r) {
    return calm(k, r) * (k / 20 % 3 == 0 ? 2.5 : 1);
}
// On a shared core or not.
double two_speeds(int, Random &r) {
    return uniform(r) < 0.5 ? 1 : 1.8;
}

// Simulates measure(): in each round A, B and the control run in random order. A takes `ratio`
// times as long as B.
Comparison simulated(double ratio, const Noise &noise, int rounds, unsigned seed) {
    Random random(seed);
    std::vector<double> times[3];
    const double truth[3] = {ratio, 1, 1};
    int order[] = {0, 1, 2}, k = 0;
    for (int round = 0; round < rounds; round++) {
        std::shuffle(std::begin(order), std::end(order), random);
        for (int who : order)
            times[who].push_back(truth[who] * noise(k++, random));
    }
    return compare(times[0], times[1], times[2]);
}

int count(double ratio, const Noise &noise, int rounds, Comparison::Answer answer) {
    int n = 0;
    for (unsigned seed = 0; seed < 400; seed++)
        n += simulated(ratio, noise, rounds, seed).answer == answer;
    return n;
}

TEST(Statistics, EqualKernelsDifferInAtMostOneOfAHundred) {
    const std::pair<const char *, Noise> noises[] = {{"calm", calm},
                                                     {"heavy tails", heavy_tails},
                                                     {"drift", drift},
                                                     {"bursts", bursts},
                                                     {"two speeds", two_speeds}};
    for (auto &[name, noise] : noises) {
        for (int rounds : {15, 51}) {
            EXPECT_GE(count(1, noise, rounds, Comparison::cannot_tell), 392)
                << name << ", rounds: " << rounds;
        }
    }
}

TEST(Statistics, DetectsFivePercentWithAndWithoutBursts) {
    EXPECT_GE(count(1.05, calm, 51, Comparison::slower), 399);
    EXPECT_GE(count(1 / 1.05, calm, 51, Comparison::faster), 399);
    EXPECT_GE(count(1.05, calm, 15, Comparison::slower), 395);
    EXPECT_GE(count(1.05, drift, 51, Comparison::slower), 390);
    EXPECT_GE(count(1.05, bursts, 51, Comparison::slower), 390);
}

TEST(Statistics, DetectsNoDifferenceBelowTheNoise) {
    EXPECT_GE(count(1.02, two_speeds, 15, Comparison::cannot_tell), 380);
    EXPECT_GE(count(2, two_speeds, 51, Comparison::slower), 380);
}

TEST(Statistics, TheIntervalContainsTheTrueRatio) {
    int held = 0;
    for (unsigned seed = 0; seed < 400; seed++) {
        const Comparison c = simulated(1.3, heavy_tails, 25, seed);
        held += c.low <= 1.3 && 1.3 <= c.high;
        EXPECT_NEAR(c.ratio, 1.3, 0.15);
        EXPECT_LE(c.low, c.ratio);
        EXPECT_LE(c.ratio, c.high);
    }
    EXPECT_GE(held, 392);
}

// With 8 values of one sign the probability is 2/256 = 0.0078, below 1 %; 7 aren't enough.
TEST(Statistics, FewerThanEightRoundsGiveNoAnswer) {
    for (int rounds : {1, 3, 7}) {
        const Comparison c = simulated(3, calm, rounds, 1);
        EXPECT_EQ(c.answer, Comparison::cannot_tell);
        EXPECT_TRUE(std::isinf(c.high));
    }
    EXPECT_EQ(simulated(3, calm, 8, 1).answer, Comparison::slower);
}

// Hollander & Wolfe, Nonparametric Statistical Methods, table 3.1: depression scores, 95 % (96.1 %
// exactly): -0.786 to -0.010.
TEST(Statistics, MatchesHodgesLehmannOfTheTextbook) {
    const std::vector<double> change = {-0.952, 0.147,  -1.022, -0.430, -0.620,
                                        -0.590, -0.490, 0.080,  -0.010};
    const Interval i = centre_of(change, 0.95);
    EXPECT_NEAR(i.estimate, -0.460, 1e-9);
    EXPECT_NEAR(i.low, -0.786, 1e-9);
    EXPECT_NEAR(i.high, -0.010, 1e-9);
}

TEST(Statistics, TheApproximationMatchesTheExactRanks) {
    std::vector<double> values;
    for (int i = 0; i < 61; i++)
        values.push_back(i * i);
    const Interval many = centre_of(values, 0.99);
    values.pop_back();
    const Interval exact = centre_of(values, 0.99);
    EXPECT_NEAR(many.low, exact.low, 0.06 * exact.low);
    EXPECT_NEAR(many.high, exact.high, 0.06 * exact.high);
    EXPECT_TRUE(std::isnan(centre_of({}, 0.99).estimate));
}

}  // namespace
}  // namespace halyard::bench
