// Tests the summary of `halyard bench --sample` with synthetic times.
#include "bench/harness/sample_run.h"

#include <gtest/gtest.h>

#include "bench/harness/comparison.h"

namespace halyard::bench {
namespace {

BenchmarkCase timed(const std::string &label, double seconds, bool peer, bool dispatched = false) {
    BenchmarkCase s{label, 1, peer, true, dispatched, {}, {}};
    s.first_seconds = seconds;
    for (int round = 0; round < 9; round++)
        s.seconds.push_back(seconds * (1 + 0.001 * (round * 4 % 9)));
    if (dispatched) s.control_seconds = {s.seconds.rbegin(), s.seconds.rend()};
    return s;
}

SampleOutcome outcome(double best_variant, double peer) {
    std::deque<BenchmarkCase> cases = {timed("wide/avx2", 1, false, true),
                                       timed("short/avx2", best_variant, false),
                                       timed("oneDNN", peer, true)};
    cases.push_back(timed("roof", 0.1, true));
    cases.back().computes = false;
    compare_with_dispatched(cases);
    cases.push_back(timed("any/avx2", 50, false));  // its first call alone was timed
    cases.back().seconds.clear();
    return outcome_of_cases({"softmax", "softmax", "n=1 c=2", "f32", "a/b c", true}, cases, 1);
}

TEST(Quantile, IsTheNearestRank) {
    EXPECT_EQ(quantile({3, 1, 2}, 0.5), 2);
    EXPECT_EQ(quantile({3, 1, 2}, 0.05), 1);
    EXPECT_EQ(quantile({3, 1, 2}, 1), 3);
    EXPECT_EQ(quantile({5}, 0.95), 5);
}

TEST(SampleOutcome, HasRegretAndFastestPeer) {
    const SampleOutcome o = outcome(0.5, 0.8);
    EXPECT_TRUE(o.failure.empty()) << o.failure;
    EXPECT_EQ(o.chosen, "wide/avx2");
    EXPECT_NEAR(o.regret, 2, 0.02);
    EXPECT_EQ(o.best, "short/avx2");
    ASSERT_NE(o.fastest_peer(), nullptr);
    EXPECT_EQ(o.fastest_peer()->label, "oneDNN");  // the roof computes nothing
    EXPECT_NEAR(o.fastest_peer()->ratio, 0.8, 0.01);
    ASSERT_EQ(o.variants.size(), 2u);
    EXPECT_EQ(o.variants[1].label, "any/avx2");
    EXPECT_NEAR(o.variants[1].ratio, 50, 0.01);
    EXPECT_EQ(outcome(1.2, 0.8).regret, 1);
}

TEST(SampleOutcome, NamesAnErrorOfTheChosenKernel) {
    std::deque<BenchmarkCase> cases = {timed("wide/avx2", 1, false, true)};
    cases[0].accuracy.violation = "y[0] is 1, expected 2";
    cases[0].seconds.clear();
    const SampleOutcome o = outcome_of_cases({}, cases, 1);
    EXPECT_EQ(o.failure, "wide/avx2 breaks its contract: y[0] is 1, expected 2");
}

TEST(SampleTables, HaveDistributionsAndTheWorst) {
    std::vector<SampleOutcome> all = {outcome(0.5, 0.8), outcome(1.5, 2.0)};
    all.push_back({});
    all.back().drawn = {"matmul", "matmul", "m=1", "f32", "x", true};
    all.back().failure = "[matmul] nothing";
    const std::string text = sample_tables(all);
    for (const char *row :
         {"| softmax | 1 | oneDNN | 2 | 0.80 | 0.80 | 2.00 | 50 % |\n",
          "| softmax | 1 | roof | 2 | 0.10 | 0.10 | 0.10 | 100 % |\n",
          "| **all** | 1 | *fastest* | 2 | 0.80 | 0.80 | 2.00 | 50 % |\n",
          "| softmax | 1 | 2 | 1.00 | 2.00 | 2.00 | 50 % |\n", "| 0.80 | `softmax n=1 c=2` | f32 |",
          "- `matmul m=1` f32, 1 threads: [matmul] nothing\n"})
        EXPECT_NE(text.find(row), std::string::npos) << row << "\n" << text;
    // Nothing was timed.
    EXPECT_NE(sample_tables({}).find("## Largest regrets"), std::string::npos);
    // A kernel without other variants has no regret.
    SampleOutcome single = outcome(1, 1);
    single.variants.clear();
    EXPECT_EQ(sample_tables({single}).find("| softmax | 1 | 1 |"), std::string::npos);
}

}  // namespace
}  // namespace halyard::bench
