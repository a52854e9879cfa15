// Tests the random ops: known answers, the same bits everywhere, and statistics that a wrong
// distribution fails. All seeds are fixed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "primitives/ops/dropout.h"
#include "primitives/ops/random.h"
#include "primitives/ops/random_order.h"
#include "primitives/ops/shapes.h"
#include "primitives/ops/sorting.h"
#include "primitives/random.h"
#include "registry/base/error.h"
#include "registry/base/parallel.h"
#include "registry/tensor/memory.h"
#include "tests/registry/expect_error.h"

using namespace halyard;

namespace {

constexpr int64_t many = 200000;

// Returns the Kolmogorov-Smirnov statistic: sqrt(n) times the largest distance between the
// empirical distribution and `below`. It exceeds 1.95 in one of a thousand samples.
double kolmogorov(std::vector<double> x, const std::function<double(double)> &below) {
    std::sort(x.begin(), x.end());
    const auto n = double(x.size());
    double most = 0;
    for (size_t i = 0; i < x.size(); i++) {
        const double p = below(x[i]);
        most = std::max({most, std::fabs(p - double(i) / n), std::fabs(double(i + 1) / n - p)});
    }
    return std::sqrt(n) * most;
}

// Returns chi-square of counts against their expectations, as standard deviations from its mean.
double chi_square(const std::vector<double> &counts, const std::vector<double> &expected) {
    double sum = 0;
    for (size_t k = 0; k < counts.size(); k++)
        sum += (counts[k] - expected[k]) * (counts[k] - expected[k]) / expected[k];
    const auto freedom = double(counts.size()) - 1;
    return (sum - freedom) / std::sqrt(2 * freedom);
}
std::vector<double> counts_of(const std::vector<int64_t> &places, size_t cells) {
    std::vector<double> counts(cells);
    for (int64_t p : places)
        counts.at(size_t(p))++;
    return counts;
}

double normal_below(double z) {
    return 0.5 * std::erfc(-z / std::sqrt(2.));
}

std::vector<Tensor> every_draw() {
    return {F::uniform({5, 1009}, -1, 3, 7, 1),
            F::uniform({1009}, 0, 1, 7, 1, DType::f64),
            F::normal({5, 1009}, 1, 2, 7, 1),
            F::truncated_normal({5, 1009}, 1, 2, 7, 1),
            F::randint(-5, 1000, {5, 1009}, 7, 1),
            F::bernoulli(Tensor::ones({1009}), Tensor::scalar(0.3), 7, 1),
            F::dropout(Tensor::ones({1009}), 0.3, 7, 1)[1],
            F::randperm(1009, 7, 1),
            F::multinomial(Tensor::ones({3, 7}), 5, false, 7, 1)};
}

}  // namespace

// For counter 0 and key 0, kat_vectors of Random123 has these four words, which are elements 0, 16,
// 32 and 48.
TEST(RandomOps, MatchKnownAnswers) {
    const Tensor u = F::uniform({64}, 0, 1, 0, 0);
    const uint32_t words[] = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8};
    for (int k = 0; k < 4; k++)
        EXPECT_EQ(u.at({16 * k}), double(words[k] >> 8) * 0x1p-24);
    const double r = std::sqrt(-2 * std::log(double(words[0] >> 1 | 1) * 0x1p-31));
    const double angle = 2 * M_PI * words[1] * 0x1p-32;
    const Tensor z = F::normal({64}, 0, 1, 0, 0);
    EXPECT_NEAR(z.at({0}), r * std::cos(angle), 1e-6);
    EXPECT_NEAR(z.at({16}), r * std::sin(angle), 1e-6);
}

TEST(RandomOps, SameBitsForEveryInstructionSetAndNumberOfThreads) {
    const int before = threads();
    std::vector<Tensor> first;
    for (int isa = 0; isa <= int(host_isa()); isa++) {
        for (int n : {1, 3}) {
            set_threads(n);
            std::vector<Tensor> all;
            try {
                const Force force((Isa)isa, "");
                all = every_draw();
            } catch (const DispatchError &) {
                continue;
            }  // It is not built for this ISA.
            if (first.empty()) first = all;
            for (size_t k = 0; k < all.size(); k++) {
                EXPECT_EQ(all[k].to_vector<double>(), first[k].to_vector<double>())
                    << k << " " << name_of((Isa)isa) << " " << n;
            }
        }
    }
    set_threads(before);
    EXPECT_FALSE(first.empty());
}

TEST(RandomOps, AnElementDependsOnlyOnItsIndex) {
    const auto all = F::normal({40000}, 0, 1, 3, 4).to_vector<float>();
    const auto few = F::normal({77}, 0, 1, 3, 4).to_vector<float>();
    EXPECT_TRUE(std::equal(few.begin(), few.end(), all.begin()));
    EXPECT_EQ(F::normal({7, 11}, 0, 1, 3, 4).to_vector<float>(), few);
    EXPECT_NE(F::normal({77}, 0, 1, 3, 5).to_vector<float>(), few);
    EXPECT_NE(F::normal({77}, 0, 1, 3 + (int64_t(1) << 32), 4).to_vector<float>(), few);
}

TEST(RandomOps, DrawFromTheDefaultGenerator) {
    set_seed(9);
    const auto a = F::uniform({5}).to_vector<float>(), b = F::uniform({5}).to_vector<float>();
    const RngState state = get_rng_state();
    EXPECT_EQ(state, (RngState{9, 2}));
    const auto c = F::dropout(Tensor::ones({100}), 0.5)[1].to_vector<float>();
    EXPECT_NE(a, b);
    EXPECT_EQ(F::uniform({5}, 0, 1, 9, 1).to_vector<float>(), b);
    set_seed(9);
    EXPECT_EQ(F::uniform({5}).to_vector<float>(), a);
    set_rng_state(state);
    EXPECT_EQ(F::dropout(Tensor::ones({100}), 0.5)[1].to_vector<float>(), c);
}

TEST(RandomOps, UniformIsUniform) {
    for (DType t : {DType::f32, DType::f64}) {
        const auto u = F::uniform({many}, -2, 3, 1, 0, t).to_vector<double>();
        EXPECT_LT(kolmogorov(u, [](double x) { return (x + 2) / 5; }), 1.95);
        // The test detects a range that is 1 % too long.
        EXPECT_GT(kolmogorov(u, [](double x) { return (x + 2) / 5.05; }), 1.95);
        std::vector<int64_t> pairs;
        for (size_t i = 0; i + 1 < u.size(); i += 2)
            pairs.push_back(int64_t((u[i] + 2) / 5 * 16) * 16 + int64_t((u[i + 1] + 2) / 5 * 16));
        // Neighbours are independent.
        EXPECT_LT(
            std::fabs(chi_square(counts_of(pairs, 256), std::vector<double>(256, many / 512.))), 4);
    }
    const auto tight = F::uniform({many}, 1, std::nextafter(1.f, 2.f), 1, 0).to_vector<float>();
    EXPECT_EQ(*std::max_element(tight.begin(), tight.end()), 1);  // The result is never maxval.
}

TEST(RandomOps, NormalIsNormal) {
    const auto z = F::normal({many}, 3, 2, 2, 0).to_vector<double>();
    EXPECT_LT(kolmogorov(z, [](double x) { return normal_below((x - 3) / 2); }), 1.95);
    EXPECT_GT(kolmogorov(z, [](double x) { return normal_below((x - 3) / 2.05); }), 1.95);
    double moments[5] = {};
    for (double x : z) {
        for (int k = 1; k < 5; k++)
            moments[k] += std::pow((x - 3) / 2, k) / double(many);
    }
    const double deviation[] = {0, 1, std::sqrt(2.), std::sqrt(15.), std::sqrt(96.)};
    const double expected[] = {1, 0, 1, 0, 3};
    for (int k = 1; k < 5; k++)
        EXPECT_NEAR(moments[k], expected[k], 4 * deviation[k] / std::sqrt(double(many))) << k;
    double product = 0;  // The product of the two of a pair.
    for (size_t i = 0; i + 16 < z.size(); i += 32)
        product += (z[i] - 3) * (z[i + 16] - 3) / 4;
    EXPECT_LT(std::fabs(product), 4 * std::sqrt(many / 32.));
}

TEST(RandomOps, TruncatedNormalIsWithinTwoSigma) {
    const auto z = F::truncated_normal({many}, 3, 2, 2, 0).to_vector<double>();
    EXPECT_GE(*std::min_element(z.begin(), z.end()), -1);
    EXPECT_LE(*std::max_element(z.begin(), z.end()), 7);
    const double tail = normal_below(-2);
    EXPECT_LT(kolmogorov(
                  z, [&](double x) { return (normal_below((x - 3) / 2) - tail) / (1 - 2 * tail); }),
              1.95);
    EXPECT_GT(kolmogorov(z, [](double x) { return normal_below((x - 3) / 2); }), 1.95);
}

TEST(RandomOps, RandintIsFair) {
    const auto counts = counts_of(F::randint(0, 1000, {many}, 3, 0).to_vector<int64_t>(), 1000);
    EXPECT_LT(std::fabs(chi_square(counts, std::vector<double>(1000, many / 1000.))), 4);
    std::vector<double> skewed(1000, many / 1000.);
    for (size_t k = 0; k < 500; k++) {
        skewed[k] *= 1.05;
        skewed[k + 500] *= 0.95;
    }
    EXPECT_GT(chi_square(counts, skewed), 4);
    const auto whole =
        F::randint(INT32_MIN, int64_t(INT32_MAX) + 1, {many}, 3, 1, DType::i32).to_vector<double>();
    EXPECT_LT(kolmogorov(whole, [](double x) { return x * 0x1p-32 + 0.5; }), 1.95);
}

TEST(RandomOps, BernoulliHasItsProbability) {
    for (double p : {0.0, 0.01, 0.5, 1.0}) {
        double sum = 0;
        for (double v :
             F::bernoulli(Tensor::zeros({many}), Tensor::scalar(p), 4, 0).to_vector<double>())
            sum += v;
        EXPECT_NEAR(sum, many * p, 4 * std::sqrt(many * p * (1 - p))) << p;
    }
}

TEST(RandomOps, EveryOrderIsLikely) {
    std::map<std::vector<int64_t>, size_t> orders;
    std::vector<int64_t> drawn;
    for (int64_t k = 0; k < 24000; k++) {
        const auto order = F::randperm(5, 5, k).to_vector<int64_t>();
        drawn.push_back(int64_t(orders.emplace(order, orders.size()).first->second));
    }
    ASSERT_EQ(orders.size(), 120u);
    EXPECT_LT(std::fabs(chi_square(counts_of(drawn, 120), std::vector<double>(120, 200))), 4);
    Tensor x = Tensor::empty({100, 2});
    for (int i = 0; i < 100; i++) {
        x.set({i, 0}, i);
        x.set({i, 1}, -i);
    }
    const Tensor y = F::shuffle(x, 5, 0);
    std::vector<double> first;
    for (int i = 0; i < 100; i++) {
        first.push_back(y.at({i, 0}));
        EXPECT_EQ(y.at({i, 1}), -first.back());
    }
    EXPECT_FALSE(std::is_sorted(first.begin(), first.end()));
    std::sort(first.begin(), first.end());
    for (int i = 0; i < 100; i++)
        EXPECT_EQ(first[size_t(i)], i);
}

TEST(RandomOps, MultinomialFollowsItsWeights) {
    const std::vector<double> weights = {0.5, 0, 3, 1.5};
    const Tensor x = Tensor::from<float>({0.5f, 0, 3, 1.5f}, {4});
    const auto expected = [](double n, std::vector<double> w) {
        double sum = 0;
        for (double v : w)
            sum += v;
        for (double &v : w)
            v *= n / sum;
        return w;
    };
    std::vector<double> counts = counts_of(
        F::multinomial(x, 50000, true, 6, 0).to_vector<int64_t>(), 4);
    EXPECT_EQ(counts[1], 0);
    const auto of_three = [](const std::vector<double> &v) {
        return std::vector<double>{v[0], v[2], v[3]};
    };
    EXPECT_LT(std::fabs(chi_square(of_three(counts), of_three(expected(50000, weights)))), 4);

    // Without replacement, the second is drawn from those that remain.
    std::vector<int64_t> firsts, seconds;
    const auto pairs =
        F::multinomial(F::broadcast_to(x, {20000, 4}), 2, false, 6, 1).to_vector<int64_t>();
    for (size_t k = 0; k < pairs.size(); k += 2) {
        firsts.push_back(pairs[k]);
        if (pairs[k] == 2) seconds.push_back(pairs[k + 1]);
    }
    EXPECT_LT(
        std::fabs(chi_square(of_three(counts_of(firsts, 4)), of_three(expected(20000, weights)))),
        4);
    const auto second = counts_of(seconds, 4);
    const auto left = expected(double(seconds.size()), {0.5, 0, 0, 1.5});
    EXPECT_LT(std::fabs(chi_square({second[0], second[3]}, {left[0], left[3]})), 4);
}

TEST(RandomOps, RejectInvalidArguments) {
    EXPECT_EQ(message([] { F::uniform({2}, 2, 1); }),
              "[uniform] minval is 2.000000, expected a number of at most maxval 1.000000");
    EXPECT_EQ(message([] { F::normal({2}, 0, -1); }),
              "[normal] stddev is -1.000000, expected at least 0");
    EXPECT_EQ(message([] { F::randint(3, 3, {2}); }),
              "[randint] high is 3, expected more than low 3, by at most 4294967296");
    EXPECT_EQ(message([] { F::randint(0, int64_t(1) << 31, {2}, 0, 0, DType::i32); }), "no error");
    EXPECT_EQ(message([] { F::uniform({2}, 0, 1, -2); }),
              "[uniform] seed is -2, expected -1 or more");
    EXPECT_EQ(message([] { F::uniform({-2}); }),
              "[uniform] shape has an extent of -2, expected 0 or more");
    EXPECT_EQ(message([] { F::uniform({2}, 0, 1, 0, 0, DType::f16); }),
              "[uniform] dtype is f16, expected f32 or f64");
    EXPECT_EQ(message([] { F::multinomial(Tensor::zeros({3}), 1); }),
              "[multinomial] row 0 has no weight above 0");
    EXPECT_EQ(message([] {
                  F::multinomial(Tensor::ones({2, 3}), 4, false);
              }),
              "[multinomial] num_samples is 4, expected at most the 3 weights above 0 of a row");
    EXPECT_EQ(message([] { F::multinomial(Tensor::full({3}, -1), 1); }),
              "[multinomial] weight 0 of row 0 is -1.000000, expected at least 0");
    EXPECT_EQ(message([] { F::shuffle(Tensor::scalar(1.0)); }),
              "[shuffle] x has rank 0, expected at least 1");
    EXPECT_EQ(F::uniform({0, 3}).elements(), 0);
}

// Scratch counts against the limit as results do.
TEST(RandomOps, ScratchCountsAgainstTheLimit) {
    const Tensor weights = Tensor::ones({1, 4 << 20});
    const Tensor single = Tensor::scalar(1).expand({16 << 20});
    memory::trim();
    memory::set_limit(memory::stats().live_bytes + (24 << 20));
    const auto expect_rejected = [](const char *op, const auto &call) {
        const std::string reported = message(call);
        EXPECT_TRUE(reported.starts_with(std::string("[") + op + "] ") &&
                    reported.find("out of memory: ") != std::string::npos)
            << reported;
    };
    expect_rejected("randperm", [] { F::randperm(100000000); });
    expect_rejected("randperm", [] { F::randperm(2147483647); });
    expect_rejected("shuffle", [&] { F::shuffle(single); });
    expect_rejected("multinomial", [&] { F::multinomial(weights, 2); });
    expect_rejected("unique", [&] { F::unique(single); });
    expect_rejected("sort", [&] { F::sort(single); });
    memory::set_limit(0);
    EXPECT_EQ(F::randperm(5).elements(), 5);
}
