#include "train/metrics/metric_set.h"

#include <gtest/gtest.h>

#include <cmath>

#include "registry/base/error.h"
#include "tests/registry/expect_error.h"

namespace halyard {
namespace {

// Two batches, the second with one-hot labels. The expected values are MindSpore 2.10's for them.
void two_batches(Metric &m) {
    m.clear();
    m.update(Tensor::from(
                 std::vector<float>{.2f, .5f, .3f, .1f, .7f, .2f, .9f, .05f, .05f, .3f, .3f, .4f},
                 {4, 3}),
             Tensor::from<int32_t>({1, 0, 0, 2}));
    m.update(Tensor::from(std::vector<float>{.6f, .1f, .3f, .1f, .2f, .7f}, {2, 3}),
             Tensor::from(std::vector<int32_t>{0, 0, 1, 0, 0, 1}, {2, 3}));
}
template<class T> T counted(T m) {
    two_batches(m);
    two_batches(m);  // clear() resets the metric.
    return m;
}
void expect_each(const std::vector<double> &got, const std::vector<double> &want) {
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < got.size(); i++)
        EXPECT_DOUBLE_EQ(got[i], want[i]) << i;
}

TEST(Metrics, ClassifiersMatchMindSpore) {
    EXPECT_DOUBLE_EQ(counted(Accuracy()).eval(), 4.0 / 6);
    EXPECT_DOUBLE_EQ(counted(TopKCategoricalAccuracy(2)).eval(), 5.0 / 6);
    EXPECT_DOUBLE_EQ(counted(Top5CategoricalAccuracy()).eval(), 1);
    expect_each(counted(Precision()).eval_classes(), {0.5, 0.5, 1});
    expect_each(counted(Recall()).eval_classes(), {0.5, 1, 2.0 / 3});
    expect_each(counted(F1()).eval_classes(), {0.5, 2.0 / 3, 0.8});
    expect_each(counted(Fbeta(2)).eval_classes(), {0.5, 5.0 / 6, 5.0 / 7});
    EXPECT_DOUBLE_EQ(counted(Precision()).eval(), 2.0 / 3);
    EXPECT_EQ(counted(ConfusionMatrix()).matrix(),
              (std::vector<std::vector<int64_t>>{{1, 1, 0}, {0, 1, 0}, {1, 0, 2}}));
    EXPECT_DOUBLE_EQ(counted(ConfusionMatrix()).eval(), 4.0 / 6);
}

// A map has a sample at each position: the same numbers as the rows of its positions.
TEST(Metrics, ClassifiersTakeMaps) {
    const std::vector<float> rows = {.2f, .5f, .3f, .1f, .7f, .2f, .9f, .05f, .05f,
                                     .3f, .3f, .4f, .6f, .1f, .3f, .1f, .2f,  .7f};
    const std::vector<int32_t> labels = {1, 0, 0, 2, 0, 2};
    const Tensor flat = Tensor::from(rows, {6, 3});
    // [N,C,H,W] with N = 2, H = 1, W = 3.
    const Tensor map = flat.reshape({2, 1, 3, 3}).transpose({0, 3, 1, 2});
    const auto expect_same = [&](auto metric) {
        metric.update(flat, Tensor::from(labels, {6}));
        const double expected = metric.eval();
        metric.clear();
        metric.update(map, Tensor::from(labels, {2, 1, 3}));
        EXPECT_DOUBLE_EQ(metric.eval(), expected);
        metric.clear();
        std::vector<int32_t> one_hot(18);
        for (size_t i = 0; i < 6; i++)
            one_hot[i * 3 + size_t(labels[i])] = 1;
        metric.update(map,
                      Tensor::from(one_hot, {2, 1, 3, 3}).transpose({0, 3, 1, 2}).contiguous());
        EXPECT_DOUBLE_EQ(metric.eval(), expected);
    };
    expect_same(Accuracy());
    expect_same(Precision());
    expect_same(Recall());
    EXPECT_EQ(message([&] {
                  Accuracy().update(map, Tensor::from(labels, {2, 3, 1}));
              }),
              "[accuracy] outputs are [2,3,1,3] and labels [2,3,1], expected labels [2,1,3] or "
              "one-hot labels");
}

// The values are those of MindSpore's documentation and, for the shares, of its definition.
TEST(Metrics, SamplesWithSeveralClasses) {
    const Tensor outputs = Tensor::from<int32_t>({0, 1, 1, 1, 0, 1}).reshape({2, 3});
    const Tensor labels = Tensor::from<int32_t>({0, 1, 1, 1, 1, 0}).reshape({2, 3});
    Accuracy accuracy("multilabel");
    accuracy.update(outputs, labels);
    EXPECT_DOUBLE_EQ(accuracy.eval(), 0.5);
    Precision precision("multilabel");
    precision.update(outputs, labels);
    precision.update(Tensor::zeros({1, 3}), Tensor::ones({1, 3}));
    expect_each(precision.eval_classes(), {1, 0.5, 0});
    EXPECT_DOUBLE_EQ(precision.eval(), 0.5);
    Recall recall("multilabel");
    recall.update(outputs, labels);
    expect_each(recall.eval_classes(), {1, 0.5});
    recall.clear();
    EXPECT_THROW(recall.eval(), AttrError);
    // Positions of maps are samples: here two, of two classes.
    recall.update(Tensor::from<int32_t>({1, 0, 1, 0}).reshape({1, 2, 2}),
                  Tensor::from<int32_t>({1, 1, 0, 0}).reshape({1, 2, 2}));
    expect_each(recall.eval_classes(), {1, 0});
    EXPECT_EQ(message([&] {
                  accuracy.update(outputs, Tensor::from<int32_t>({1, 0}));
              }),
              "[accuracy] outputs are [2,3] and labels [2], expected the same shape");
    EXPECT_EQ(message([&] { recall.update(outputs, labels); }),
              "[recall] outputs have C=3 classes, before they had 2");
    EXPECT_EQ(message([&] {
                  recall.update(Tensor::full({1, 2}, 0.5), Tensor::ones({1, 2}));
              }),
              "[recall] an output is 0.500000, expected 0 or 1");
    EXPECT_EQ(message([&] { Accuracy("multi"); }),
              "[accuracy] eval_type is multi, expected classification or multilabel");
}

TEST(Metrics, ErrorsAndLoss) {
    const Tensor y = Tensor::from(std::vector<float>{.1f, .2f, .6f, .9f}, {2, 2});
    const Tensor t = Tensor::from(std::vector<float>{.1f, .25f, .5f, .9f}, {2, 2});
    MAE mae;
    mae.update(y, t);
    EXPECT_NEAR(mae.eval(), 0.075, 1e-7);
    MSE mse;
    mse.update(y, t);
    EXPECT_NEAR(mse.eval(), 0.00625, 1e-8);
    Loss loss;
    loss.update_loss(Tensor::scalar(3));
    loss.update_loss(Tensor::from<float>({1, 0}));
    EXPECT_EQ(loss.eval(), 1.75);
}

TEST(Metrics, NaNIsNeverThePrediction) {
    TopKCategoricalAccuracy top(1);
    top.update(Tensor::from(std::vector<float>{NAN, 1}, {1, 2}), Tensor::from<int32_t>({0}));
    EXPECT_EQ(top.eval(), 0);
}

TEST(Metrics, RejectInvalidShapes) {
    Accuracy a;
    EXPECT_EQ(message([&] { a.eval(); }), "[accuracy] no sample was given");
    EXPECT_EQ(message([&] {
                  a.update(Tensor::ones({3, 2}), Tensor::from<int32_t>({0, 1}));
              }),
              "[accuracy] outputs are [3,2] and labels [2], expected one label per row");
    EXPECT_EQ(message([&] {
                  a.update(Tensor::ones({1, 2}), Tensor::from<int32_t>({2}));
              }),
              "[accuracy] a label is 2.000000, expected an integer from 0 to 1");
    EXPECT_EQ(message([&] { a.update(Tensor::ones({2}), Tensor::from<int32_t>({1})); }),
              "[accuracy] outputs are [2] and labels [1], expected outputs [N,C] or [N,C,...]");
    ConfusionMatrix c;
    c.update(Tensor::ones({1, 2}), Tensor::from<int32_t>({1}));
    EXPECT_EQ(message([&] {
                  c.update(Tensor::ones({1, 3}), Tensor::from<int32_t>({1}));
              }),
              "[confusion_matrix] outputs have C=3 classes, before they had 2");
    EXPECT_EQ(message([] { TopKCategoricalAccuracy(0); }),
              "[top_k_accuracy] k is 0, expected at least 1");
    EXPECT_EQ(message([] { Fbeta(0); }), "[fbeta] beta is 0.000000, expected more than 0");
    EXPECT_EQ(message([] { Metrics({"acc", "speed"}); }).substr(0, 24), "[model] metric is speed,");
    EXPECT_EQ(message([] {
                  Metrics({"acc", {"acc", Recall()}});
              }),
              "[model] two metrics are called acc");
}

}  // namespace
}  // namespace halyard
