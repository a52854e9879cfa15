// Tests the metrics of curves, texts and masks. All expected values are MindSpore 2.10's for the
// same input.
#include <gtest/gtest.h>

#include <cmath>

#include "nn/dense.h"
#include "registry/base/error.h"
#include "train/metrics/mask_metrics.h"
#include "train/metrics/metric_set.h"
#include "train/metrics/occlusion_sensitivity.h"
#include "train/metrics/roc.h"
#include "train/metrics/text_metrics.h"

namespace halyard {
namespace {

using Rows = std::vector<double>;

void expect_near(const Rows &got, const Rows &want) {
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < got.size(); i++)
        EXPECT_NEAR(got[i], want[i], 1e-12) << i;
}

const Tensor probabilities = Tensor::from(Rows{0.2, 0.5, 0.3, 0.1, 0.9, 0.6}, {3, 2});

TEST(Perplexity, MatchesMindSpore) {
    Perplexity perplexity;
    EXPECT_THROW(perplexity.eval(), AttrError);
    perplexity.update(probabilities, Tensor::from<int32_t>({1, 0, 1}));
    EXPECT_NEAR(perplexity.eval(), 2.231443166940565, 1e-14);
    perplexity.update(probabilities, Tensor::from<int32_t>({0, 0, 0}));
    EXPECT_NEAR(perplexity.eval(), 2.42974457869159, 1e-14);
    EXPECT_THROW(perplexity.update(probabilities, Tensor::from<int32_t>({0, 2, 0})), ShapeError);
    EXPECT_THROW(perplexity.update(probabilities, Tensor::from<int32_t>({0, 1})), ShapeError);
    EXPECT_NEAR(perplexity.eval(), 2.42974457869159, 1e-14) << "a part of a bad batch was counted";
    Perplexity ignoring(1);
    ignoring.update(probabilities, Tensor::from<int32_t>({1, 0, 1}));
    EXPECT_NEAR(ignoring.eval(), 1 / 0.3, 1e-14);
}

TEST(BleuScore, MatchesMindSpore) {
    using Sentence = BleuScore::Sentence;
    const Sentence candidate = {"i", "have", "a", "pen", "on", "my", "desk"};
    const std::vector<Sentence> references = {{"i", "have", "a", "pen", "in", "my", "desk"},
                                              {"there", "is", "a", "pen", "on", "the", "desk"}};
    BleuScore bleu;
    EXPECT_THROW(bleu.eval(), AttrError);
    bleu.update({candidate}, {references});
    EXPECT_NEAR(bleu.eval(), 0.5946035575013605, 1e-14);
    BleuScore smooth(2, true);
    smooth.update({candidate}, {references});
    EXPECT_NEAR(smooth.eval(), 0.9258200997725514, 1e-14);
    BleuScore shorter(3);
    shorter.update({{"a", "b", "c", "d"}, {"x", "y", "z"}},
                   {{{"a", "b", "c", "d", "e"}}, {{"x", "y", "z", "w"}, {"q"}}});
    EXPECT_NEAR(shorter.eval(), 0.7514772930752859, 1e-14);
    BleuScore unlike;
    unlike.update({{"a"}}, {{{"b"}}});
    EXPECT_EQ(unlike.eval(), 0);
    BleuScore smooth_unlike(4, true);
    smooth_unlike.update({{"a"}}, {{{"b"}}});
    EXPECT_EQ(smooth_unlike.eval(), 0);
    EXPECT_THROW(BleuScore(5), AttrError);
    EXPECT_THROW(bleu.update({candidate}, {}), ShapeError);
    EXPECT_THROW(bleu.update({candidate}, {{}}), ShapeError);
}

TEST(CosineSimilarity, MatchesMindSpore) {
    const Tensor rows = Tensor::from(Rows{5, 8, 3, 2, 5, 8, 3, 2, 4, 2, 3, 4}, {3, 4});
    const auto of = [&](CosineSimilarity metric) {
        metric.update(rows);
        return metric.eval().to_vector<double>();
    };
    const double c = 0.7822931488937509;
    expect_near(of(CosineSimilarity()), {0, 1, c, 1, 0, c, c, c, 0});
    expect_near(of(CosineSimilarity("dot")), {0, 102, 53, 102, 0, 53, 53, 53, 0});
    expect_near(of(CosineSimilarity("cosine", "mean")), {(1 + c) / 3, (1 + c) / 3, 2 * c / 3});
    expect_near(of(CosineSimilarity("cosine", "sum", false)), {2 + c, 2 + c, 1 + 2 * c});
    EXPECT_THROW(CosineSimilarity("euclid"), AttrError);
    EXPECT_THROW(CosineSimilarity("dot", "max"), AttrError);
    EXPECT_THROW(CosineSimilarity().eval(), AttrError);
}

TEST(Roc, MatchesMindSpore) {
    ROC roc(2);
    EXPECT_THROW(roc.eval(), AttrError);
    roc.update(Tensor::from(Rows{3, 0, 1, 1, 3, 0, 1, 0, 2}, {3, 3}),
               Tensor::from(Rows{0, 2, 1, 1, 2, 1, 0, 0, 1}, {3, 3}));
    const RocCurve curve = roc.curve();
    expect_near(curve.false_positive_rate, {0, 1.0 / 7, 2.0 / 7, 5.0 / 7, 1});
    expect_near(curve.true_positive_rate, {0, 0.5, 0.5, 0.5, 1});
    expect_near(curve.thresholds, {4, 3, 2, 1, 0});
    EXPECT_NEAR(roc.eval(), 0.5357142857142857, 1e-14);

    ROC per_class;
    const Tensor scores = Tensor::from(
        Rows{.28, .55, .15, .05, .10, .20, .05, .05, .20, .05, .15, .05, .05, .05, .05, .75},
        {4, 4});
    per_class.update(scores, Tensor::from<int32_t>({0, 1, 2, 3}));
    EXPECT_EQ(per_class.classes(), 4);
    expect_near(per_class.curve(1).false_positive_rate, {0, 1.0 / 3, 1.0 / 3, 1});
    expect_near(per_class.curve(1).thresholds, {1.55, .55, .2, .05});
    EXPECT_NEAR(per_class.eval(), (1 + 2.0 / 3 + 5.0 / 6 + 1) / 4, 1e-14);
    EXPECT_THROW(per_class.curve(4), AttrError);
    EXPECT_THROW(per_class.update(Tensor::from(Rows{1, 2}, {1, 2}), Tensor::from<int32_t>({0})),
                 ShapeError);
    ROC one_sided;
    one_sided.update(Tensor::from<float>({1, 2}), Tensor::from<int32_t>({1, 1}));
    EXPECT_THROW(one_sided.eval(), AttrError);
}

TEST(Auc, TrapezoidsInEitherDirection) {
    EXPECT_EQ(auc({0, 1, 2}, {1, 1, 3}), 3);
    EXPECT_EQ(auc({2, 1, 0}, {3, 1, 1}), 3);
    EXPECT_EQ(auc({1, 0, 2}, {1, 1, 3}, true), 3);
    EXPECT_THROW(auc({1, 0, 2}, {1, 1, 3}), AttrError);
    EXPECT_THROW(auc({1}, {1}), ShapeError);
    EXPECT_THROW(auc({1, 2}, {1}), ShapeError);
}

TEST(Dice, MatchesMindSpore) {
    Dice dice;
    dice.update(probabilities, Tensor::from<int32_t>({0, 1, 1, 0, 0, 1}).reshape({3, 2}));
    EXPECT_NEAR(dice.eval(), 0.2046779137180255, 1e-14);
    dice.update(probabilities, Tensor::from<int32_t>({0, 1, 1, 1, 0, 0}).reshape({3, 2}));
    EXPECT_NEAR(dice.eval(), 0.16812828626837809, 1e-14);
    EXPECT_THROW(Dice(0), AttrError);
    EXPECT_THROW(dice.update(probabilities, Tensor::from<int32_t>({1})), ShapeError);
}

TEST(ConfusionMatrixMetric, MatchesMindSpore) {
    const Tensor outputs =
        Tensor::from<int32_t>({0, 1, 1, 0, 1, 0, 1, 1, 1, 1, 0, 0, 0, 0, 1, 0}).reshape({2, 2, 4});
    const Tensor label =
        Tensor::from<int32_t>({0, 1, 0, 0, 1, 1, 1, 1, 0, 1, 0, 1, 0, 1, 1, 0}).reshape({2, 2, 4});
    struct Expected {
        const char *name;
        double with_all_channels;
        double without_the_first;
    };
    const Expected expected[] = {
        {"tpr", 0.6666666666666666, 0.6666666666666666},
        {"Hit Rate", 0.6666666666666666, 0.6666666666666666},
        {"tnr", 0.7142857142857143, 1},
        {"ppv", 0.75, 1},
        {"npv", 0.625, 0.5},
        {"fnr", 0.3333333333333333, 0.3333333333333333},
        {"fpr", 0.2857142857142857, 0},
        {"fdr", 0.25, 0},
        {"for", 0.375, 0.5},
        {"pt", 0.39564392373896023, 0},
        {"ts", 0.5454545454545454, 0.6666666666666666},
        {"accuracy", 0.6875, 0.75},
        {"ba", 0.6904761904761905, 0.8333333333333333},
        {"f1_score", 0.7058823529411765, 0.8},
        {"mcc", 0.3779644730092272, 0.5773502691896258},
        {"fm", 0.7071067811865476, 0.816496580927726},
        {"bm", 0.38095238095238093, 0.6666666666666665},
        {"mk", 0.375, 0.5},
    };
    for (const Expected &e : expected) {
        for (const bool skip_channel : {true, false}) {
            ConfusionMatrixMetric metric(skip_channel, e.name);
            EXPECT_THROW(metric.eval(), AttrError);
            metric.update(outputs, label);
            EXPECT_NEAR(metric.eval(), skip_channel ? e.with_all_channels : e.without_the_first,
                        1e-14)
                << e.name;
        }
    }
    ConfusionMatrixMetric accuracy(true, "accuracy");
    accuracy.update(outputs, label);
    const Tensor bad_end = Tensor::from<int32_t>({1, 2}).reshape({1, 2});
    EXPECT_THROW(accuracy.update(bad_end, bad_end), ShapeError);
    EXPECT_NEAR(accuracy.eval(), 0.6875, 1e-14) << "a part of a bad batch was counted";
    EXPECT_THROW(ConfusionMatrixMetric(true, "luck"), AttrError);
    EXPECT_THROW(ConfusionMatrixMetric().update(label, Tensor::from<int32_t>({1})), ShapeError);
}

Tensor disc(int64_t row, int64_t column, int64_t square_radius) {
    std::vector<int32_t> mask;
    for (int64_t r = 0; r < 9; r++) {
        for (int64_t c = 0; c < 11; c++)
            mask.push_back((r - row) * (r - row) + (c - column) * (c - column) <= square_radius);
    }
    return Tensor::from(mask, {9, 11});
}

template<class T> double of_discs(T metric) {
    EXPECT_THROW(metric.eval(), AttrError);
    metric.update(disc(4, 5, 9), disc(3, 6, 12), 1);
    return metric.eval();
}

template<class T> double of_classes(T metric) {
    metric.update(Tensor::from<int32_t>({3, 0, 1, 1, 3, 0, 1, 0, 2}).reshape({3, 3}),
                  Tensor::from<int32_t>({0, 2, 1, 1, 2, 1, 0, 0, 1}).reshape({3, 3}), 0);
    return metric.eval();
}

TEST(EdgeDistances, MatchMindSpore) {
    EXPECT_NEAR(of_classes(HausdorffDistance()), std::sqrt(2.0), 1e-14);
    EXPECT_NEAR(of_classes(HausdorffDistance("taxicab", 50)), 1, 1e-14);
    EXPECT_NEAR(of_classes(MeanSurfaceDistance()), 0.8047378541243649, 1e-14);
    EXPECT_NEAR(of_classes(MeanSurfaceDistance(true)), 0.7357022603955158, 1e-14);
    EXPECT_NEAR(of_classes(MeanSurfaceDistance(true, "taxicab")), 0.8333333333333333, 1e-14);
    EXPECT_NEAR(of_classes(RootMeanSquareDistance()), 1, 1e-14);
    EXPECT_NEAR(of_classes(RootMeanSquareDistance(true, "chessboard")), 0.816496580927726, 1e-14);

    EXPECT_NEAR(of_discs(HausdorffDistance()), 2, 1e-14);
    EXPECT_NEAR(of_discs(HausdorffDistance("euclidean", 90)), 1.7071067811865475, 1e-14);
    EXPECT_NEAR(of_discs(HausdorffDistance("taxicab", 0, true)), 2, 1e-14);
    EXPECT_NEAR(of_discs(MeanSurfaceDistance(true)), 0.9397208691207961, 1e-14);
    EXPECT_NEAR(of_discs(RootMeanSquareDistance(true)), 1.1319231422671772, 1e-14);
    EXPECT_NEAR(of_discs(RootMeanSquareDistance()), 1.25, 1e-14);

    HausdorffDistance nothing;
    nothing.update(disc(4, 5, 9), Tensor::zeros({9, 11}, DType::i32), 1);
    EXPECT_EQ(nothing.eval(), INFINITY);
    EXPECT_THROW(nothing.update(disc(4, 5, 9), disc(4, 5, 9), 7), ShapeError);
    EXPECT_THROW(HausdorffDistance("manhattan"), AttrError);
    EXPECT_THROW(HausdorffDistance("taxicab", 101), AttrError);
}

// The example of MindSpore's documentation.
TEST(OcclusionSensitivity, MatchesMindSpore) {
    const Tensor weight = Tensor::from(std::vector<float>{.1f, .8f, .1f, .1f, 1, 1, 1, 1}, {2, 4});
    const nn::Dense net(4, 2, weight, Tensor::from<float>({.3f, .6f}));
    const Tensor image = Tensor::from(std::vector<float>{.1f, .2f, .3f, .4f}, {1, 4});
    const auto of = [&](OcclusionSensitivity m) {
        m.update(net, image, 1);
        return m.eval();
    };
    const auto expect = [&](const OcclusionSensitivity &m, const Rows &want) {
        const Rows got = of(m).to_vector<double>();
        ASSERT_EQ(got.size(), want.size());
        for (size_t i = 0; i < got.size(); i++)
            EXPECT_NEAR(got[i], want[i], 1e-6) << i;
    };
    expect(OcclusionSensitivity(), {.3, .6, 1, .9});
    expect(OcclusionSensitivity(0, {2}, 3), {.3, .6, 1, .9});
    expect(OcclusionSensitivity(1, {2}), {.3 - 2, .6 - 3, 1 - 4, .9 - 3});
    expect(OcclusionSensitivity(0, {1}, 1, {1, 2}), {.3, .5});
    expect(OcclusionSensitivity(0, {2}, 128, {2, -1}), {1, .9});
    EXPECT_THROW(OcclusionSensitivity().eval(), AttrError);
    EXPECT_THROW(OcclusionSensitivity(0, {0}), AttrError);
    EXPECT_THROW(OcclusionSensitivity(0, {}), AttrError);
    EXPECT_THROW(OcclusionSensitivity(0, {2}, 0), AttrError);
    EXPECT_THROW(of(OcclusionSensitivity(0, {1, 2})), ShapeError);
    EXPECT_THROW(of(OcclusionSensitivity(0, {2}, 128, {0, 4})), ShapeError);
    EXPECT_THROW(of(OcclusionSensitivity(0, {2}, 128, {0})), ShapeError);
    OcclusionSensitivity metric;
    EXPECT_THROW(metric.update(net, Tensor::ones({2, 4}), 1), ShapeError);
    EXPECT_THROW(metric.update(net, image, 2), ShapeError);
}

// Of an image with channels, every element has the part around it hidden, in all dimensions.
TEST(OcclusionSensitivity, HidesBoxesOfImages) {
    struct Sums : nn::Cell {
        Tensor construct(const Tensor &x) const override {
            return x.reshape({x.size(0), -1}).slice(1, 0, 15).copy();
        }
    };
    std::vector<float> values(15);
    for (size_t i = 0; i < 15; i++)
        values[i] = float(i + 1);
    const Tensor image = Tensor::from(values, {1, 1, 3, 5});
    OcclusionSensitivity metric(0, {1}, 4);
    for (int64_t label : {0, 7, 14}) {  // the output is element `label` of the image
        metric.update(Sums(), image, label);
        const Tensor map = metric.eval();
        ASSERT_EQ(map.shape(), (Shape{3, 5}));
        for (int64_t r = 0; r < 3; r++) {
            for (int64_t c = 0; c < 5; c++) {
                const int64_t y = label / 5, x = label % 5;
                const bool hidden = y >= r - 1 && y < r + 1 && x >= c - 1 && x < c + 1;
                EXPECT_EQ(map.at({r, c}), hidden ? double(label + 1) : 0) << label << r << c;
            }
        }
    }
}

TEST(Metrics, CreatesOtherMetricsByName) {
    for (const char *name : {"confusion_matrix_metric", "dice", "perplexity", "roc"})
        EXPECT_EQ(Metrics({name}).all()[0].name, name);
    EXPECT_THROW(Metrics({"luck"}), AttrError);
}

}  // namespace
}  // namespace halyard
