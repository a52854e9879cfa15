#include "train/data/dataset_helper.h"

#include <gtest/gtest.h>

#include "primitives/operators.h"
#include "registry/base/error.h"
#include "tests/registry/expect_error.h"
#include "train/data/sources.h"

using namespace halyard;

namespace {

dataset::Dataset numbers(int64_t n, bool shuffle = false) {
    const Tensor x = Tensor::empty({n}, DType::i32);
    for (int64_t i = 0; i < n; i++)
        x.data<int32_t>()[i] = int32_t(i);
    return dataset::TensorDataset({{"x", x}}, shuffle);
}

std::vector<int> epoch(DatasetHelper &rows) {
    std::vector<int> all;
    for (const dataset::Row &row : rows)
        all.push_back(row[0].item<int>());
    return all;
}

}  // namespace

TEST(DatasetHelper, AnEpochIsOnePass) {
    DatasetHelper rows(numbers(3), /*dataset_sink_mode=*/false, 2);
    EXPECT_EQ(rows.steps_per_epoch(), 3);
    EXPECT_EQ(epoch(rows), (std::vector<int>{0, 1, 2}));
    EXPECT_EQ(epoch(rows), (std::vector<int>{0, 1, 2}));
}

TEST(DatasetHelper, SunkEpochsContinueWhereTheyStopped) {
    DatasetHelper rows(numbers(3), true, 2);
    DatasetHelper longer(numbers(3), true, 7);
    DatasetHelper whole(numbers(3));
    EXPECT_EQ(epoch(rows), (std::vector<int>{0, 1}));
    EXPECT_EQ(epoch(rows), (std::vector<int>{2, 0}));
    EXPECT_EQ(epoch(rows), (std::vector<int>{1, 2}));
    EXPECT_EQ(epoch(longer), (std::vector<int>{0, 1, 2, 0, 1, 2, 0}));
    EXPECT_EQ(whole.steps_per_epoch(), 3);
}

// Adds up what it is called with.
class Sum : public nn::Cell {
public:
    Parameter sum = parameter("sum", Tensor::zeros({1}, DType::i32), false);
    std::vector<Tensor> construct(nn::Tensors in) const override {
        sum.set_data(sum.data() * Tensor::full({1}, 10, DType::i32) + in[0]);
        return {sum.data().copy()};
    }
};

TEST(DatasetHelper, AConnectedNetworkRunsAnEpochInACall) {
    DatasetHelper rows(numbers(3).batch(1), true, 4);
    const ConnectedNetwork sum = connect_network_with_dataset(Sum(), rows);
    EXPECT_EQ(sum().item<int>(), 120);
    EXPECT_EQ(sum().item<int>(), 1201201);
    const Tensor one = Tensor::ones({1});
    DatasetHelper two(dataset::TensorDataset({{"x", one}, {"y", one}}));
    expect_error<ShapeError>("[connect_network_with_dataset] PairOf gives 2 tensors, expected one",
                             [&] {
                                 struct PairOf : nn::Cell {
                                     std::vector<Tensor> construct(nn::Tensors in) const override {
                                         return {in[0], in[1]};
                                     }
                                 };
                                 connect_network_with_dataset(PairOf(), two)();
                             });
}

TEST(DatasetHelper, EachPassHasItsOwnOrder) {
    const dataset::Dataset data = numbers(50, true);
    DatasetHelper rows(data);
    for (uint64_t pass = 0; pass < 2; pass++) {
        std::vector<int> expected;
        for (const dataset::Row &row : data.create_dict_iterator(pass))
            expected.push_back(row[0].item<int>());
        EXPECT_EQ(epoch(rows), expected);
    }
}

TEST(DatasetHelper, RejectsInvalidArguments) {
    expect_error<AttrError>("[dataset_helper] sink_size is 0, expected -1 or at least 1",
                            [] { DatasetHelper(numbers(3), true, 0); });
    expect_error<AttrError>("[dataset_helper] the dataset has no row",
                            [] { DatasetHelper(numbers(3).batch(4, true)); });
}
