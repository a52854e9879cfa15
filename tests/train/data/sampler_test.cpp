#include "train/data/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "registry/base/error.h"
#include "tests/registry/expect_error.h"
#include "train/data/sources.h"

namespace halyard::dataset {
namespace {

using Order = std::vector<int64_t>;

Order order(const Sampler &s, int64_t rows, uint64_t pass = 0) {
    const Order o = s.order(rows, Opening{7, pass}.stream(0));
    EXPECT_EQ(int64_t(o.size()), s.size(rows));
    return o;
}

Order sorted(Order v) {
    std::sort(v.begin(), v.end());
    return v;
}

TEST(Samplers, InOrderAndOfASubset) {
    EXPECT_EQ(order(SequentialSampler(3, 4), 10), (Order{3, 4, 5, 6}));
    EXPECT_EQ(order(SequentialSampler(8), 10), (Order{8, 9}));
    EXPECT_EQ(order(SequentialSampler(12), 10), Order{});
    EXPECT_EQ(order(SubsetSampler({5, 0, 5}), 10), (Order{5, 0, 5}));
    EXPECT_EQ(order(SubsetSampler({5, 0, 5}, 2), 10), (Order{5, 0}));
    const SubsetRandomSampler some({1, 3, 5, 7, 9});
    EXPECT_EQ(sorted(order(some, 10)), (Order{1, 3, 5, 7, 9}));
    EXPECT_NE(order(some, 10, 0), order(some, 10, 2));
    EXPECT_EQ(message([] {
                  order(SubsetSampler({5, 10}), 10);
              }),
              "[SubsetSampler] index is 10, expected 0 to 9");
}

TEST(Samplers, Random) {
    EXPECT_EQ(sorted(order(RandomSampler(), 50)), order(SequentialSampler(), 50));
    EXPECT_NE(order(RandomSampler(), 50, 0), order(RandomSampler(), 50, 1));
    const Order few = order(RandomSampler(false, 20), 50);
    EXPECT_EQ(std::set<int64_t>(few.begin(), few.end()).size(), 20u);
    const Order many = order(RandomSampler(true, 50000), 5);
    for (int64_t i = 0; i < 5; i++)
        EXPECT_NEAR(double(std::count(many.begin(), many.end(), i)), 10000, 450);
    EXPECT_EQ(order(RandomSampler(true, 7), 0), Order{});
}

TEST(Samplers, Weighted) {
    const Order many = order(WeightedRandomSampler({1, 0, 2, 5, 0}, 40000), 5);
    EXPECT_EQ(std::count(many.begin(), many.end(), 1) + std::count(many.begin(), many.end(), 4), 0);
    EXPECT_NEAR(double(std::count(many.begin(), many.end(), 0)), 5000, 350);
    EXPECT_NEAR(double(std::count(many.begin(), many.end(), 2)), 10000, 450);
    EXPECT_EQ(sorted(order(WeightedRandomSampler({1, 0, 2, 1e-300, 0}, 0, false), 5)),
              (Order{0, 2, 3}));
    int first = 0;
    for (uint64_t pass = 0; pass < 4000; pass++)
        first += order(WeightedRandomSampler({1, 3}, 1, false), 2, pass)[0] == 1;
    EXPECT_NEAR(first, 3000, 140);
    EXPECT_EQ(message([] {
                  WeightedRandomSampler({0, 0});
              }),
              "[WeightedRandomSampler] no weight is above 0");
    EXPECT_EQ(message([] {
                  order(WeightedRandomSampler({1, 2}), 3);
              }),
              "[WeightedRandomSampler] there are 2 weights for 3 rows");
    EXPECT_EQ(message([] {
                  WeightedRandomSampler({1, 0}, 2, false);
              }),
              "[WeightedRandomSampler] num_samples is 2, but only 1 weights are above 0");
}

// MindSpore's first three.
TEST(Samplers, Distributed) {
    EXPECT_EQ(order(DistributedSampler(3, 0, false), 10), (Order{0, 3, 6, 9}));
    EXPECT_EQ(order(DistributedSampler(3, 1, false), 10), (Order{1, 4, 7, 0}));
    EXPECT_EQ(order(DistributedSampler(3, 2, false), 10), (Order{2, 5, 8, 1}));
    Order all;
    for (int64_t shard = 0; shard < 5; shard++) {
        const Order mine = order(DistributedSampler(5, shard), 20, 3);
        all.insert(all.end(), mine.begin(), mine.end());
    }
    EXPECT_EQ(sorted(all), order(SequentialSampler(), 20));
    EXPECT_EQ(message([] { DistributedSampler(3, 3); }),
              "[DistributedSampler] shard_id is 3, expected 0 to 2");
}

TEST(Samplers, ArgumentsOfSources) {
    const Tensor x = Tensor::from(Order{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, {10});
    const auto values = [&](const SlicesOptions &o) {
        Order out;
        for (const Row &row : NumpySlicesDataset({x}, o).create_dict_iterator())
            out.push_back(row["column_0"].item<int64_t>());
        return out;
    };
    EXPECT_EQ(values({.shuffle = false, .num_shards = 4, .shard_id = 1}), (Order{1, 5, 9}));
    EXPECT_EQ(values({.shuffle = false, .num_samples = 2}), (Order{0, 1}));
    EXPECT_EQ(values({.sampler = std::make_shared<SubsetSampler>(Order{4, 2})}), (Order{4, 2}));
    EXPECT_EQ(sorted(values({})), values({.shuffle = false}));
    EXPECT_EQ(
        message([&] { values({.sampler = std::make_shared<RandomSampler>(), .num_shards = 2}); }),
        "[NumpySlicesDataset] there is a sampler beside num_shards and shard_id");
    EXPECT_EQ(message([&] { values({.num_shards = 2, .shard_id = 2}); }),
              "[NumpySlicesDataset] shard_id is 2 of 2 shards");
    EXPECT_EQ(message([&] {
                  NumpySlicesDataset({x}, {.column_names = {"a", "b"}});
              }),
              "[NumpySlicesDataset] column_names has 2 names for 1 columns");
}

}  // namespace
}  // namespace halyard::dataset
