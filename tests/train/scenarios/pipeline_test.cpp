#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <set>
#include <thread>

#include "primitives/random.h"
#include "registry/base/error.h"
#include "registry/base/parallel.h"
#include "train/data/sources.h"
#include "train/vision/vision.h"

using namespace halyard;
using namespace halyard::dataset;

namespace {

Dataset numbers(int64_t n) {
    std::vector<int32_t> v(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; i++)
        v[size_t(i)] = int32_t(i);
    return TensorDataset({{"x", Tensor::from(v, {n})}, {"y", Tensor::from(v, {n, 1})}});
}

std::vector<int> values(const Dataset &d, uint64_t epoch = 0, const std::string &column = "x") {
    std::vector<int> out;
    for (const Row &row : d.create_dict_iterator(epoch)) {
        for (const int64_t v : row[column].to_vector<int64_t>())
            out.push_back(int(v));
    }
    return out;
}

std::vector<int> iota(int n) {
    std::vector<int> v(static_cast<size_t>(n));
    for (int i = 0; i < n; i++)
        v[size_t(i)] = i;
    return v;
}

Tensor slow_square(const Tensor &t) {
    const double v = t.item();
    // Rows finish out of order.
    std::this_thread::sleep_for(std::chrono::microseconds(int(v) * 37 % 50));
    return Tensor::scalar(v * v, DType::f32);
}

}  // namespace

TEST(Pipeline, OrderBatchesAndSizes) {
    const Dataset d = numbers(10);
    EXPECT_EQ(values(d), iota(10));
    EXPECT_EQ(d.get_dataset_size(), 10);
    EXPECT_EQ(d.batch(4).get_dataset_size(), 3);
    EXPECT_EQ(d.batch(4, true).get_dataset_size(), 2);
    EXPECT_EQ(d.batch(4, true).repeat(3).get_dataset_size(), 6);
    EXPECT_EQ(values(d.batch(4)), iota(10));
    EXPECT_EQ(values(d.batch(4, true)), iota(8));
    EXPECT_EQ(values(d.repeat(3)).size(), 30u);
    std::vector<Shape> shapes;
    for (const Row &row : d.batch(4).create_dict_iterator())
        shapes.push_back(row["y"].shape());
    EXPECT_EQ(shapes, (std::vector<Shape>{{4, 1}, {4, 1}, {2, 1}}));
    EXPECT_EQ(values(numbers(3).batch(4, true)), iota(0));
}

TEST(Pipeline, ShuffleIsAPermutationWithinItsBuffer) {
    set_seed(3);
    const std::vector<int> v = values(numbers(500).shuffle(20));
    EXPECT_NE(v, iota(500));
    std::vector<int> sorted = v;
    std::sort(sorted.begin(), sorted.end());
    EXPECT_EQ(sorted, iota(500));
    // A row can't leave the buffer before it entered: at position k at most k + 20 rows were read.
    for (int k = 0; k < 500; k++)
        EXPECT_LT(v[size_t(k)], k + 20);
    EXPECT_EQ(values(numbers(50).shuffle(1)), iota(50));
}

TEST(Pipeline, FullBufferShufflesUniformly) {
    int first[6] = {};
    for (uint64_t epoch = 0; epoch < 6000; epoch++) {
        set_seed(epoch);
        Row row;
        ASSERT_TRUE(numbers(6).shuffle(100).node()->open({})->next(row));
        first[row["x"].item<int32_t>()]++;
    }
    for (const int n : first)
        EXPECT_NEAR(n, 1000, 150);  // Five standard deviations are 144.
}

TEST(Pipeline, RowsStayTogether) {
    set_seed(4);
    for (const Row &row : numbers(100).shuffle(30).map(slow_square, "x").create_dict_iterator())
        EXPECT_EQ(row["x"].item(), row["y"].item() * row["y"].item());
}

TEST(Pipeline, EpochsAndRepeatsDiffer) {
    set_seed(5);
    const Dataset d = numbers(64).shuffle(64);
    EXPECT_EQ(values(d, 0), values(d, 0));
    EXPECT_NE(values(d, 0), values(d, 1));
    const std::vector<int> twice = values(d.repeat(2));
    EXPECT_EQ(std::vector<int>(twice.begin(), twice.begin() + 64), values(d, 0));
    EXPECT_EQ(std::vector<int>(twice.begin() + 64, twice.end()), values(d, 1));
    EXPECT_EQ(values(d.repeat(2), 1), [&] {
        std::vector<int> v = values(d, 2);
        const std::vector<int> w = values(d, 3);
        v.insert(v.end(), w.begin(), w.end());
        return v;
    }());
    const std::vector<int> before = values(d, 0);
    set_seed(6);
    EXPECT_NE(values(d, 0), before);
    EXPECT_NE(values(numbers(64).shuffle(64).shuffle(64)), values(numbers(64).shuffle(64)));
}

TEST(Pipeline, SameBytesForAnyNumberOfThreads) {
    std::vector<std::vector<uint8_t>> first;
    for (const int threads : {1, 2, 3, 8}) {
        set_threads(threads);
        set_seed(7);
        Dataset d = MnistDataset(HALYARD_SOURCE_DIR "/data/digits/28/test");
        d = d.map({vision::Resize({32, 32}), vision::Rescale(1.0 / 255, 0), vision::HWC2CHW()},
                  "image")
                .shuffle(100)
                .batch(32);
        std::vector<std::vector<uint8_t>> bytes;
        for (const Row &row : d.repeat(2).create_dict_iterator()) {
            for (const Tensor &t : row.tensors()) {
                const uint8_t *p = static_cast<const uint8_t *>(t.raw());
                bytes.emplace_back(p, p + t.bytes());
            }
        }
        EXPECT_EQ(bytes.size(), 2u * 2 * 12);
        if (first.empty()) first = bytes;
        EXPECT_TRUE(bytes == first) << threads << " threads";
    }
    set_threads(0);
}

TEST(Pipeline, ReadsMnistFiles) {
    const Dataset train = MnistDataset(HALYARD_SOURCE_DIR "/data/digits/28/train",
                                       {.shuffle = false});
    EXPECT_EQ(train.get_dataset_size(), 1437);
    EXPECT_EQ(train.get_col_names(), (std::vector<std::string>{"image", "label"}));
    for (const Row &row : train.create_dict_iterator()) {
        ASSERT_EQ(row["image"].shape(), (Shape{28, 28, 1}));
        ASSERT_EQ(row["label"].shape(), Shape{});
        ASSERT_EQ(row["label"].dtype(), DType::i32);
        ASSERT_LT(row["label"].item(), 10);
    }
    set_seed(1);
    const Dataset shuffled = MnistDataset(HALYARD_SOURCE_DIR "/data/digits/28/train");
    EXPECT_NE(values(shuffled, 0, "label"), values(train, 0, "label"));
    EXPECT_NE(values(shuffled, 0, "label"), values(shuffled, 1, "label"));
    EXPECT_THROW(MnistDataset(HALYARD_SOURCE_DIR "/tests"), IoError);
    EXPECT_THROW(MnistDataset(HALYARD_SOURCE_DIR "/data/digits/28/train", {.usage = "test"}),
                 IoError);
    EXPECT_THROW(MnistDataset(HALYARD_SOURCE_DIR "/data/digits/28/train", {.usage = "valid"}),
                 AttrError);
}

TEST(Pipeline, PrefetchesUpToABound) {
    std::atomic<int> produced{0};
    const Dataset d = numbers(4000).batch(1).map(
        [&](const Tensor &t) {
            produced++;
            return t;
        },
        "x");
    RowIterator rows = d.create_dict_iterator(0, 2);
    Row row;
    ASSERT_TRUE(rows.next(row));
    for (int i = 0; i < 200 && produced < 4; i++)
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_GE(produced, 4);    // The producer runs ahead.
    EXPECT_LE(produced, 512);  // The queue and one chunk of a map bound it.
}

TEST(Pipeline, CanBeDroppedHalfway) {
    for (int i = 0; i < 20; i++) {
        RowIterator rows = numbers(1000).shuffle(10).batch(2).create_dict_iterator();
        Row row;
        for (int k = 0; k < i; k++)
            ASSERT_TRUE(rows.next(row));
    }
}

TEST(Pipeline, ErrorsReachTheUser) {
    const auto fails_at_7 = [](const Tensor &t) -> Tensor {
        if (t.item() == 7) throw ShapeError("test", "seven");
        return t;
    };
    EXPECT_THROW(values(numbers(10).map(fails_at_7, "x")), ShapeError);
    EXPECT_THROW(
        values(numbers(10)
                   .map([](const Tensor &t) { return Tensor::zeros({1 + int64_t(t.item()) % 2}); },
                        "x")
                   .batch(2)),
        ShapeError);
    EXPECT_THROW((void)numbers(10).map(slow_square, "z"), AttrError);
    EXPECT_THROW((void)numbers(10).batch(0), AttrError);
    EXPECT_THROW((void)numbers(10).shuffle(0), AttrError);
    EXPECT_THROW((void)numbers(10).repeat(0), AttrError);
    EXPECT_THROW(TensorDataset({{"a", Tensor::ones({2})}, {"b", Tensor::ones({3})}}), ShapeError);
    for (const Row &row : numbers(1).create_dict_iterator())
        EXPECT_THROW((void)row["z"], AttrError);
}
