#include "primitives/random.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace halyard;

// Known answers of philox4x32-10, from the Random123 distribution (kat_vectors).
TEST(Random, PhiloxMatchesKnownAnswers) {
    EXPECT_EQ(philox_words({0, 0, 0, 0}, {0, 0}),
              (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
    constexpr uint32_t f = 0xffffffff;
    EXPECT_EQ(philox_words({f, f, f, f}, {f, f}),
              (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
    EXPECT_EQ(
        philox_words({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
        (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Random, SeedsStreamsAndLanesDiffer) {
    const Random a(1, 0);
    EXPECT_EQ(a.block(7), Random(1, 0).block(7));
    EXPECT_NE(a.block(7), Random(2, 0).block(7));
    EXPECT_NE(a.block(7), Random(1, 1).block(7));
    EXPECT_NE(a.block(7), a.block(8));
    EXPECT_NE(a.block(7), a.block(7, 1));
    EXPECT_NE(a.block(7), a.block(7 + (1ull << 32)));
}

TEST(Random, SetSeedRestartsTheStreams) {
    set_seed(5);
    const Random a = Random::next(), b = Random::next();
    set_seed(5);
    const Random c = Random::next();
    EXPECT_EQ(a.block(0), c.block(0));
    EXPECT_NE(a.block(0), b.block(0));
    EXPECT_EQ(get_seed(), 5u);
}

TEST(Random, BelowIsUniform) {
    const Random r(3, 0);
    int counts[7] = {};
    for (uint64_t k = 0; k < 70000; k++) {
        const uint32_t v = r.below(k, 7);
        ASSERT_LT(v, 7u);
        counts[v]++;
    }
    for (const int c : counts)
        EXPECT_NEAR(c, 10000, 500);  // Five standard deviations are 463.
    EXPECT_EQ(r.below(9, 1), 0u);
}

TEST(Random, NormalsHaveTheirMoments) {
    const Random r(11, 0);
    double sum = 0, squares = 0, fourth = 0;
    constexpr int n = 100000;
    for (uint64_t k = 0; k < n; k++) {
        const Words w = r.block(k);
        const auto [a, b] = normal_pair(w[0], w[1]);
        sum += a + b;
        squares += a * a + b * b;
        fourth += a * a * a * a + b * b * b * b;
    }
    EXPECT_NEAR(sum / (2 * n), 0, 0.012);
    EXPECT_NEAR(squares / (2 * n), 1, 0.016);
    EXPECT_NEAR(fourth / (2 * n), 3, 0.12);
    EXPECT_LT(normal_pair(0, 0)[0], 7);  // The smallest word has a finite logarithm.
}
