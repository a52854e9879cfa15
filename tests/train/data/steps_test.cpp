// Tests the steps between a source and an iterator: columns, ranges, joins, splits, random
// transforms, and where an iterator begins.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <mutex>
#include <numeric>
#include <set>
#include <thread>

#include "primitives/random.h"
#include "registry/base/error.h"
#include "registry/base/parallel.h"
#include "registry/tensor/deaf_listener.h"
#include "tests/registry/expect_error.h"
#include "train/data/sources.h"

namespace halyard::dataset {
namespace {

using Values = std::vector<int64_t>;

Values iota(int64_t n, int64_t first = 0) {
    Values v(static_cast<size_t>(n));
    std::iota(v.begin(), v.end(), first);
    return v;
}

// Makes columns x = first, first + 1, ... and y = 100 x.
Dataset numbers(int64_t n, int64_t first = 0, bool shuffle = false) {
    Values x = iota(n, first);
    Values y = x;
    for (int64_t &v : y)
        v *= 100;
    return TensorDataset({{"x", Tensor::from(x, {n})}, {"y", Tensor::from(y, {n})}}, shuffle);
}

Values values(const Dataset &d, uint64_t epoch = 0, int64_t start = 0,
              const std::string &column = "x") {
    Values out;
    for (const Row &row : d.create_dict_iterator(epoch, 4, start)) {
        for (const int64_t v : row[column].to_vector<int64_t>())
            out.push_back(v);
    }
    return out;
}

Values column(const Dataset &d, const std::string &name) {
    return values(d, 0, 0, name);
}

Values sorted(Values v) {
    std::sort(v.begin(), v.end());
    return v;
}

Tensor plus_noise(const Tensor &t, Draw &draw) {
    return Tensor::scalar(t.item() * 1000000 + double(draw.below(1000000)), DType::i64);
}

void work_for(std::chrono::microseconds time) {
    const auto start = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - start < time) {
    }
}

}  // namespace

// A step that waits for a thread of the pool makes rows meanwhile, which are no part of what is
// captured.
TEST(Steps, RowsAreMadeApartFromACapture) {
    const int threads_before = threads();
    set_threads(2);
    std::atomic<int> made{0};
    std::atomic<int> heard{0};
    const auto transform = [&](const Tensor &t) {
        made++;
        heard += call_listener() != nullptr;
        work_for(std::chrono::microseconds(20));
        return t;
    };
    const int64_t rows = 20000;
    RowIterator all = numbers(rows).map(transform, "x").create_dict_iterator(0, rows);
    DeafListener listener;
    {
        const ListenerScope scope(&listener);
        while (made < rows) {
            parallel_for(0, 4,
                         [&](int64_t i) { work_for(std::chrono::microseconds(i == 3 ? 60 : 5)); });
        }
    }
    set_threads(threads_before);
    EXPECT_EQ(heard, 0) << "of " << made;
}

TEST(Steps, Columns) {
    const Dataset d = numbers(3);
    const auto swap = [](const Tensors &t) { return Tensors{t[1], t[0]}; };
    const auto both = [](const Tensors &t) {
        return Tensors{t[0], t[1], Tensor::scalar(t[0].item() + t[1].item(), DType::i64)};
    };
    EXPECT_EQ(column(d.map(swap, {"x", "y"}), "y"), iota(3));
    EXPECT_EQ(d.map(swap, {"y", "x"}, {"p", "q"}).get_col_names(),
              (std::vector<std::string>{"q", "p"}));
    const Dataset more = d.rename("y", "z").map(both, {"x", "z"}, {"p", "q", "sum"});
    EXPECT_EQ(more.get_col_names(), (std::vector<std::string>{"p", "q", "sum"}));
    EXPECT_EQ(column(more, "sum"), (Values{0, 101, 202}));
    const auto twice = [](const Tensors &t) { return Tensors{t[0], t[0]}; };
    EXPECT_EQ(d.map(twice, "y", {"p", "q"}).get_col_names(),
              (std::vector<std::string>{"p", "q", "x"}));
    EXPECT_EQ(column(d.map(twice, "y", {"p", "q"}), "x"), iota(3));
    EXPECT_EQ(d.project({"y"}).get_col_names(), std::vector<std::string>{"y"});
    EXPECT_EQ(column(d.project({"y", "x"}), "y"), (Values{0, 100, 200}));
    EXPECT_EQ(column(d.rename({"x", "y"}, {"y", "x"}), "x"), (Values{0, 100, 200}));
    EXPECT_EQ(values(d.filter([](const Tensors &t) { return t[0].item() != 1; }, "x")),
              (Values{0, 2}));
    EXPECT_EQ(d.filter([](const Tensors &t) { return t[0].item() != 1; }, "x")
                  .batch(1)
                  .get_dataset_size(),
              2);

    EXPECT_EQ(message([&] { (void)d.project("z"); }),
              "[project] column is z, expected one of x, y");
    EXPECT_EQ(message([&] { (void)d.rename("x", "y"); }), "[project] column y stands there twice");
    EXPECT_EQ(message([&] { (void)d.map(swap, {"x", "x"}); }), "[map] column x stands there twice");
    EXPECT_EQ(message([&] {
                  values(d.map(both, {"x", "y"}));
              }),
              "[map] the operations made 3 columns, expected 2");
    EXPECT_EQ(message([&] {
                  values(d.map([](const Tensor &t) { return t; }, {"x", "y"}));
              }),
              "[map] a transform of one column got 2");
}

TEST(Steps, RangesAndJoins) {
    const Dataset d = numbers(10);
    EXPECT_EQ(values(d.take(3)), iota(3));
    EXPECT_EQ(values(d.take()), iota(10));
    EXPECT_EQ(values(d.skip(7)), iota(3, 7));
    EXPECT_EQ(values(d.skip(20)), Values{});
    EXPECT_EQ(d.skip(7).take(2).get_dataset_size(), 2);
    EXPECT_EQ(d.take(20).get_dataset_size(), 10);
    EXPECT_EQ(values(d.skip(8).repeat(2)), (Values{8, 9, 8, 9}));
    EXPECT_EQ(values(d.skip(8).repeat().take(5)), (Values{8, 9, 8, 9, 8}));
    EXPECT_EQ(d.repeat().get_dataset_size(), -1);
    EXPECT_EQ(d.repeat().batch(3).take(4).get_dataset_size(), 4);
    EXPECT_EQ(values(d.skip(10).repeat()), Values{});

    const Dataset other = numbers(4, 50).rename({"x", "y"}, {"u", "v"});
    EXPECT_EQ(d.zip(other).get_dataset_size(), 4);
    EXPECT_EQ(column(d.zip(other), "u"), iota(4, 50));
    EXPECT_EQ(column(d.repeat().zip(other), "x"), iota(4));
    EXPECT_EQ(values(d.take(2).concat(numbers(2, 50))), (Values{0, 1, 50, 51}));
    EXPECT_EQ(d.concat(d).get_dataset_size(), 20);
    EXPECT_EQ(message([&] { (void)d.zip(d); }), "[zip] column x stands there twice");
    EXPECT_EQ(message([&] { (void)d.concat(other); }),
              "[concat] a dataset has the columns u, v, expected x, y");
    EXPECT_EQ(message([&] { (void)d.take(0); }), "[take] count is 0, expected 1 to 2147483647");
    // Two iterations of one shuffle give two orders; the first equals that of a dataset alone.
    const Dataset shuffled = d.shuffle(10);
    const Values twice = values(shuffled.concat(shuffled));
    EXPECT_EQ(Values(twice.begin(), twice.begin() + 10), values(shuffled));
    EXPECT_NE(Values(twice.begin() + 10, twice.end()), values(shuffled));
}

TEST(Steps, PaddedBatches) {
    const auto ones = [](const Tensor &t) { return Tensor::ones({int64_t(t.item()) + 1, 2}); };
    const Dataset d = numbers(3).map(ones, "x");
    for (const Row &row : d.padded_batch(3, false, {{"x", {{-1, 3}, 7}}}).create_dict_iterator()) {
        EXPECT_EQ(row["x"].shape(), (Shape{3, 3, 3}));
        EXPECT_EQ(row["x"].slice(0, 1, 2).to_vector<int>(),
                  (std::vector<int>{1, 1, 7, 1, 1, 7, 7, 7, 7}));
    }
    EXPECT_EQ(message([&] {
                  values(d.padded_batch(3, false, {{"x", {{2, 2}}}}));
              }),
              "[padded_batch] column x has a row of [3,2], larger than [2,2]");
    EXPECT_EQ(message([&] {
                  values(d.padded_batch(3, false, {{"x", {{-1}}}}));
              }),
              "[padded_batch] column x has a row of [1,2], pad_info the shape [-1]");
}

// Sizes are those of MindSpore's split().
TEST(Steps, SplitsAreDisjointInEveryPass) {
    const auto sizes = [](const std::vector<Dataset> &parts) {
        Values n;
        for (const Dataset &d : parts)
            n.push_back(int64_t(values(d).size()));
        return n;
    };
    EXPECT_EQ(sizes(numbers(10).split({0.55, 0.25, 0.2})), (Values{6, 2, 2}));
    EXPECT_EQ(sizes(numbers(10).split({0.33, 0.33, 0.34})), (Values{4, 3, 3}));
    EXPECT_EQ(values(numbers(10).split({7, 3}, false)[1]), iota(3, 7));
    EXPECT_EQ(message([] {
                  (void)numbers(10).split({5, 6});
              }),
              "[split] sizes add up to 11 rows, the dataset has 10");
    EXPECT_EQ(message([] {
                  (void)numbers(10).split({0.04, 0.96});
              }),
              "[split] a size is 0.040000 of 10 rows, expected at least one row, or shares of 1");
    set_seed(11);
    const auto same = [](const Tensor &t) { return t; };
    for (const Dataset &whole : {numbers(40, 0, true), numbers(40),
                                 numbers(40, 0, true).map(same, "x"), numbers(40).shuffle(7)}) {
        const std::vector<Dataset> parts = whole.split({0.75, 0.25});
        const Values train = values(parts[0]);
        const Values test = values(parts[1]);
        Values all = train;
        all.insert(all.end(), test.begin(), test.end());
        EXPECT_NE(all, iota(40));
        EXPECT_EQ(sorted(all), iota(40));
        set_seed(12);
        EXPECT_EQ(sorted(values(parts[0], 5)), sorted(train));
        set_seed(11);
    }
    // Parts of a shuffled source are shuffled again in each pass.
    const Dataset part = numbers(40, 0, true).split({0.5, 0.5})[0];
    EXPECT_NE(values(part, 0), values(part, 1));
    EXPECT_EQ(values(numbers(40).split({0.5, 0.5})[0], 0),
              values(numbers(40).split({0.5, 0.5})[0], 1));
}

TEST(Steps, RandomTransformsDependOnSeedStepPassAndRow) {
    set_seed(21);
    const Dataset d = numbers(300).map(plus_noise, "x").map(plus_noise, "y");
    std::set<int64_t> drawn;
    for (const Row &row : d.create_dict_iterator())
        drawn.insert({row["x"].item<int64_t>() % 1000000, row["y"].item<int64_t>() % 1000000});
    EXPECT_GT(drawn.size(), 598u);  // Of 600; the chance that any pair collides is about 1/6.
    const Values first = values(d, 1);
    EXPECT_NE(first, values(d, 0));
    for (const int threads : {1, 3, 8}) {
        set_threads(threads);
        EXPECT_EQ(values(d, 1), first) << threads;
        EXPECT_EQ(
            values(numbers(300).map(plus_noise, "x", {}, {.num_parallel_workers = threads}), 1),
            first);
    }
    set_threads(0);
    set_seed(22);
    EXPECT_NE(values(d, 1), first);
}

TEST(Steps, DistributionsOfDraws) {
    double sum = 0, squares = 0, betas = 0, beta_squares = 0;
    constexpr int n = 20000;
    int counts[3] = {};
    for (int i = 0; i < n; i++) {
        Draw draw(Random(5, 0), static_cast<uint64_t>(i));
        const double z = draw.normal();
        const double b = draw.beta(0.4, 0.4);
        sum += z;
        squares += z * z;
        betas += b;
        beta_squares += b * b;
        counts[draw.below(3)]++;
        const double u = draw.uniform(2, 3);
        ASSERT_TRUE(u >= 2 && u < 3);
    }
    EXPECT_NEAR(sum / n, 0, 0.04);
    EXPECT_NEAR(squares / n, 1, 0.06);
    EXPECT_NEAR(betas / n, 0.5, 0.015);
    // The variance of Beta(a, a) is 1 / (4 (2a + 1)).
    EXPECT_NEAR(beta_squares / n - 0.25, 0.25 / 1.8, 0.006);
    for (const int c : counts)
        EXPECT_NEAR(c, n / 3, 350);
}

// An iterator that starts at row n gives the same as the full one from there, in every kind of
// pipeline, without making unneeded rows.
TEST(Steps, IteratorsStartAnywhere) {
    set_seed(31);
    const Dataset d = numbers(37, 0, true), other = numbers(9, 100);
    const auto odd = [](const Tensors &t) { return int64_t(t[0].item()) % 2 == 1; };
    const std::vector<std::pair<std::string, Dataset>> all = {
        {"source", d},
        {"map", d.map(plus_noise, "x")},
        {"shuffle", d.map(plus_noise, "x").shuffle(8).map(plus_noise, "x")},
        {"full shuffle", d.shuffle(100)},
        {"two shuffles", d.shuffle(5).shuffle(6)},
        {"batch", d.map(plus_noise, "x").shuffle(8).batch(5)},
        {"dropped", d.batch(5, true)},
        {"repeat", d.map(plus_noise, "x").shuffle(8).repeat(3)},
        {"batched repeats", d.map(plus_noise, "x").repeat(2).batch(4)},
        {"filter", d.filter(odd, "x").shuffle(4).repeat(2)},
        {"range", d.skip(3).take(20).repeat(2)},
        {"concat", d.map(plus_noise, "x").concat(other).concat(d).repeat(2)},
        {"zip", d.shuffle(4).zip(numbers(30).rename({"x", "y"}, {"u", "v"}).map(plus_noise, "u"))},
        {"columns", d.project("x").rename("x", "z").rename("z", "x")},
        {"split", d.map(plus_noise, "x").split({0.5, 0.5})[1]},
        {"endless", d.shuffle(5).repeat().take(90)},
        {"distributed",
         NumpySlicesDataset({Tensor::from(iota(20), {20})},
                            {.column_names = {"x"}, .num_shards = 3, .shard_id = 2})},
    };
    for (const auto &[name, pipeline] : all) {
        const int64_t rows = pipeline.get_dataset_size();
        std::vector<Values> whole;
        for (const Row &row : pipeline.create_dict_iterator(1))
            whole.push_back(row["x"].to_vector<int64_t>());
        ASSERT_EQ(int64_t(whole.size()), rows) << name;
        for (int64_t n = 0; n <= rows + 1; n++) {
            Values expected;
            for (int64_t i = n; i < rows; i++)
                expected.insert(expected.end(), whole[size_t(i)].begin(), whole[size_t(i)].end());
            ASSERT_EQ(values(pipeline, 1, n), expected) << name << " from " << n;
            // Skips in two goes, over rows that were read and skipped.
            const auto source = pipeline.node()->open({get_seed(), 1});
            Row row;
            const bool there = source->next(row);
            ASSERT_EQ(there, rows > 0);
            ASSERT_EQ(source->skip(n / 2), std::min(n / 2, rows - 1)) << name;
            ASSERT_EQ(source->skip(n - n / 2),
                      std::min(n - n / 2, rows - 1 - std::min(n / 2, rows - 1)))
                << name;
            ASSERT_EQ(source->next(row), n + 1 < rows) << name;
            if (n + 1 < rows) {
                ASSERT_EQ(row["x"].to_vector<int64_t>(), whole[size_t(n) + 1]) << name << " " << n;
            }
        }
    }
    EXPECT_EQ(message([&] { (void)d.create_dict_iterator(0, 4, -1); }),
              "[create_dict_iterator] start is -1, expected at least 0");
}

TEST(Steps, SkippedRowsAreNotMade) {
    std::atomic<int> made{0};
    const auto count = [&](const Tensor &t) {
        made++;
        return t;
    };
    const auto run = [&](const Dataset &d, int64_t start) {
        made = 0;
        values(d, 0, start);
        return made.load();
    };
    const Dataset d = numbers(1000, 0, true).map(count, "x");
    EXPECT_EQ(run(d.batch(10), 95), 50);
    // Rows in the buffer aren't contiguous, and a map makes 16 at once.
    EXPECT_LT(run(d.shuffle(20).batch(10), 95), 150);
    EXPECT_EQ(run(d.repeat(3).batch(10), 295), 50);
    EXPECT_EQ(run(d.concat(d).batch(10), 195), 50);
    EXPECT_EQ(run(d.split({0.9, 0.1}, false)[1].batch(10), 5), 50);
}

TEST(Steps, ReportsQueueStatistics) {
    RowIterator rows = numbers(50).create_dict_iterator(0, 3);
    const auto settled = [&] {
        for (int i = 0; i < 1000 && rows.stats().depth < 3; i++)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        return rows.stats();
    };
    QueueStats s = settled();
    EXPECT_EQ(s.depth, 3u);
    EXPECT_EQ(s.capacity, 3u);
    EXPECT_EQ(s.produced, 3);
    EXPECT_EQ(s.consumed, 0);
    Row row;
    ASSERT_TRUE(rows.next(row));
    s = settled();
    EXPECT_EQ(s.high_water, 3u);
    EXPECT_EQ(s.produced, 4);
    EXPECT_EQ(s.consumed, 1);
    EXPECT_GT(s.full_seconds, 0);
    while (rows.next(row)) {
    }
    EXPECT_EQ(rows.stats().consumed, 50);
    EXPECT_EQ(rows.stats().depth, 0u);

    const auto slow = [](const Tensor &t) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        return t;
    };
    RowIterator starved = numbers(2).map(slow, "x").create_dict_iterator();
    ASSERT_TRUE(starved.next(row));
    EXPECT_GT(starved.stats().starved_seconds, 0.01);
}

TEST(Steps, WorkersOfAMapAreLimited) {
    std::atomic<int> now{0}, most{0};
    const auto work = [&](const Tensor &t) {
        const int n = ++now;
        for (int m = most; n > m && !most.compare_exchange_weak(m, n);) {
        }
        std::this_thread::sleep_for(std::chrono::microseconds(200));
        now--;
        return t;
    };
    set_threads(8);
    EXPECT_EQ(values(numbers(100).map(work, "x", {}, {.num_parallel_workers = 2})), iota(100));
    set_threads(0);
    EXPECT_LE(most, 2);
    EXPECT_EQ(message([&] { (void)numbers(1).map(work, "x", {}, {.num_parallel_workers = -1}); }),
              "[map] num_parallel_workers is -1, expected at least 0");
}

TEST(Steps, DamagedRowsEndThePassOrAreSkipped) {
    const auto damaged = [](const Tensor &t) -> Tensor {
        if (int64_t(t.item()) % 10 == 7) throw IoError("test", "damaged");
        return t;
    };
    RowIterator rows = numbers(30).map(damaged, "x").create_dict_iterator();
    Row row;
    for (int i = 0; i < 7; i++)
        ASSERT_TRUE(rows.next(row)) << i;
    EXPECT_EQ(message([&] { rows.next(row); }), "[row 7] [test] damaged");
    const Dataset d = numbers(30).map(damaged, "x", {}, {.on_error = OnError::SKIP});
    testing::internal::CaptureStderr();
    EXPECT_EQ(values(d).size(), 27u);
    EXPECT_EQ(values(d.shuffle(5), 0, 20).size(), 7u);
    const std::string warnings = testing::internal::GetCapturedStderr();
    for (const std::string number : {"7", "17", "27"}) {
        const std::string expected = "[dataset] left out: [row " + number + "] [test] damaged\n";
        // The warning appears once.
        EXPECT_EQ(warnings.find(expected), warnings.rfind(expected)) << warnings;
        EXPECT_NE(warnings.find(expected), std::string::npos) << warnings;
    }
    EXPECT_EQ(d.batch(3).skipped(),
              (std::map<std::string, int64_t>{{"[row 7] [test] damaged", 2},
                                              {"[row 17] [test] damaged", 2},
                                              {"[row 27] [test] damaged", 2}}));
}

}  // namespace halyard::dataset
