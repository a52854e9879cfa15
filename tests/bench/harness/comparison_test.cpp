// Tests comparisons with synthetic cases instead of kernels: answers, regrets, load, the JSON file,
// rounds.
#include "bench/harness/comparison.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "bench/harness/benchmark_json.h"
#include "bench/harness/system_load.h"
#include "bench/harness/timing.h"
#include "registry/base/error.h"

namespace halyard::bench {
namespace {

BenchmarkCase bench_case(const std::string &label, double seconds, bool dispatched = false) {
    BenchmarkCase s{label, 1, false, true, dispatched, {}, {}};
    for (int round = 0; round < 15; round++)
        s.seconds.push_back(seconds * (1 + 0.001 * (round * 7 % 15)));
    if (dispatched) s.control_seconds = {s.seconds.rbegin(), s.seconds.rend()};
    return s;
}

TEST(Comparison, RegretsNeedConfidence) {
    std::deque<BenchmarkCase> cases = {bench_case("wide/avx2", 1, true),
                                       bench_case("short/avx2", 1.002),
                                       bench_case("other/avx2", 0.8), bench_case("best/avx2", 0.5)};
    compare_with_dispatched(cases);
    EXPECT_EQ(text_of(*cases[1].relative).find("cannot tell (1.002"), 0u)
        << text_of(*cases[1].relative);
    EXPECT_EQ(text_of(*cases[3].relative).find("faster by 2.00 (2.00..2.00)"), 0u)
        << text_of(*cases[3].relative);
    EXPECT_EQ(noise_text(*cases[0].relative), "noise 0.4 %");
    ASSERT_EQ(regret_lines(cases).size(), 1u);
    EXPECT_EQ(
        regret_lines(cases)[0].find(
            "regret: with threads: 1, best/avx2 is faster by 2.00 (2.00..2.00) than wide/avx2"),
        0u)
        << regret_lines(cases)[0];
    cases.resize(2);
    EXPECT_TRUE(regret_lines(cases).empty());
}

TEST(Comparison, HasNoAnswerWithoutAnIdleCore) {
    std::deque<BenchmarkCase> cases = {bench_case("wide/avx2", 1, true),
                                       bench_case("best/avx2", 0.5)};
    compare_with_dispatched(cases);
    ASSERT_EQ(cases[1].relative->answer, Comparison::faster);
    withdraw_answers(cases, no_idle_core);
    EXPECT_EQ(cases[1].relative->answer, Comparison::cannot_tell);
    EXPECT_EQ(text_of(*cases[1].relative), "cannot tell: no idle core");
    EXPECT_EQ(noise_text(*cases[0].relative), "noise 0.4 %");
    EXPECT_TRUE(regret_lines(cases).empty());
}

TEST(Comparison, SelectsPairsByLabel) {
    EXPECT_EQ(planted_slowdown("op", "wide/avx2"),
              (std::pair<std::string, double>{"wide/avx2", 0}));
    EXPECT_EQ(planted_slowdown("op", "wide/avx2+5%").first, "wide/avx2");
    EXPECT_DOUBLE_EQ(planted_slowdown("op", "wide/avx2+2.5%").second, 0.025);
    for (const char *wrong : {"a+%", "a+x%", "a+5x%", "a+-5%", "a+0%"})
        EXPECT_THROW(planted_slowdown("op", wrong), AttrError) << wrong;
    BenchmarkCase bad = bench_case("bad/avx2", 1);
    bad.accuracy.violation = "y[0] is 1, expected 2";
    const std::deque<BenchmarkCase> cases = {bench_case("wide/avx2", 1, true), bad};
    const auto pair = ab_cases("op", cases, {"wide/avx2", "chosen"});
    ASSERT_EQ(pair.size(), 2u);
    EXPECT_FALSE(pair[0].has_control);
    EXPECT_TRUE(pair[1].has_control);
    EXPECT_THROW(ab_cases("op", cases, {"wide/avx2", "bad/avx2"}), DispatchError);
}

TEST(Load, CountsIdleCoresForThreads) {
    const Load load{{{0, 0.99, 0}, {2, 0.01, 0}, {3, 0.5, 0}}, 0.1, 0.36, 0, 0};
    EXPECT_EQ(contention(load, 1), "");
    EXPECT_EQ(contention(load, 2),
              "other processes keep core 0 (99 %), 3 (50 %) busy: 1 of 3 are idle for 2 "
              "threads; tasks wait for a core 36 % of the time");
    const Load quiet{{{0, 0.05, 0}}, 0.1, 0, 0, 0};
    EXPECT_EQ(contention(quiet, 4), "");  // more threads than cores were asked for
}

TEST(Load, DetectsWhetherACoreIsIdle) {
    Load load{{{0, 0.99, 0}, {1, 0.6, 0}}, 0.1, 0, 0, 0};
    load.others = 0.6;  // the other 0.4 are this process's
    EXPECT_TRUE(leaves_a_core(load));
    load.others = 1.3;
    EXPECT_FALSE(leaves_a_core(load));
    EXPECT_TRUE(leaves_a_core(Load{})) << "a system that doesn't tell";
    Counters before{10, {{0, 5, 0}, {1, 5, 0}}, 0, 1};
    Counters after{11, {{0, 6, 0}, {1, 5.9, 0}}, 0, 1.5};
    EXPECT_NEAR(between(before, after).others, 1.4, 1e-9);
}

TEST(Load, RoundsAreNoisyBySwitchesAndSteal) {
    EXPECT_FALSE(is_noisy({{{0, 1, 0}}, 0.1, 0.9, 0, 3}));
    EXPECT_TRUE(is_noisy({{{0, 1, 0}}, 0.1, 0, 0, 4}));
    EXPECT_TRUE(is_noisy({{{0, 1, 0}, {1, 1, 0.02}}, 0.1, 0, 0, 0}));
}

TEST(Timing, EveryRoundTimesEachCaseAndTheControl) {
    int calls = 0;
    std::deque<BenchmarkCase> cases = {bench_case("ours", 1, true), bench_case("timed", 1),
                                       bench_case("bad", 1)};
    for (BenchmarkCase &s : cases) {
        s.seconds.clear();
        s.control_seconds.clear();
        s.run = [&calls] { calls++; };
    }
    cases[0].has_control = true;
    cases[1].time_itself = [](double seconds) { return 3 * seconds; };
    cases[2].accuracy.violation = "wrong";
    const Rounds rounds = measure(cases, {9, 0.0005});
    EXPECT_EQ(rounds.kept, 9);
    EXPECT_EQ(cases[0].seconds.size(), 9u);
    EXPECT_EQ(cases[0].control_seconds.size(), 9u);
    EXPECT_EQ(cases[1].seconds, std::vector<double>(9, 0.0015));
    EXPECT_TRUE(cases[2].seconds.empty());
    EXPECT_GT(calls, 18);
    compare_with_dispatched(cases);
    EXPECT_EQ(cases[1].relative->answer, Comparison::slower);

    Runs runs;
    collect(cases, "op/n=1/f32", "halyard bench op", runs);
    const std::string path = testing::TempDir() + "comparison_test.json";
    save_json(path, runs);
    const auto file = nlohmann::json::parse(std::ifstream(path));
    const auto &all = file.at("benchmarks");
    ASSERT_EQ(all.size(), 9u + 9 + 1);
    EXPECT_EQ(all[9].at("name"), "op/n=1/f32/timed/threads:1");
    EXPECT_EQ(all[9].at("label"), "halyard bench op");
    EXPECT_NEAR(all[9].at("real_time").get<double>(), 1.5e6, 1);
    EXPECT_EQ(all[9].at("verdict"), -1);
    EXPECT_EQ(all[18].at("name"), "op/n=1/f32/bad/threads:1");
    EXPECT_EQ(all[18].at("error_occurred"), true);
    EXPECT_EQ(all[18].at("error_message"), "wrong");
}

TEST(Timing, TheOrderWithinARoundIsRandom) {
    std::string order;
    std::deque<BenchmarkCase> cases = {bench_case("a", 1), bench_case("b", 1)};
    for (BenchmarkCase &s : cases) {
        s.seconds.clear();
        s.time_itself = [&order, &s](double seconds) {
            order += s.label;
            return seconds;
        };
    }
    const Rounds rounds = measure(cases, {30, 0.0005});
    ASSERT_EQ(int(order.size()), 2 * (1 + rounds.kept + rounds.repeated));
    int a_first = 0;
    for (size_t k = 2; k < order.size(); k += 2)
        a_first += order[k] == 'a';
    EXPECT_GT(a_first, 5);
    EXPECT_LT(a_first, 25);
}

}  // namespace
}  // namespace halyard::bench
