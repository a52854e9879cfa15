// Tests losses and norms: the tape's gradients against differences, omitted weights, running
// statistics, shapes that don't match.
#include "nn/loss.h"
#include "primitives/autograd/views.h"
#include "primitives/ops/channels.h"
#include "primitives/ops/copy.h"
#include "primitives/ops/ctc_loss.h"
#include "primitives/ops/indexing.h"
#include "primitives/ops/label_losses.h"
#include "primitives/ops/losses.h"
#include "primitives/ops/norms.h"
#include "primitives/ops/shapes.h"
#include "primitives/ops/softmax.h"
#include "primitives/ops/statistics.h"
#include "registry/tensor/memory.h"
#include "tests/primitives/gradient_check.h"
#include "tests/registry/expect_error.h"

namespace halyard {
namespace {

using In = std::vector<Tensor>;

void gradients(const char *of, const Several &f, const In &x) {
    SCOPED_TRACE(of);
    gradient_check(f, x);
}

Tensor positive(const Shape &shape, unsigned seed, double minimum = 0.1) {
    const Tensor t = numbers(shape, seed);
    for (int64_t i = 0; i < t.elements(); i++)
        t.data<double>()[i] = minimum + 0.8 * std::fabs(t.data<double>()[i]);
    return t;
}

TEST(LossGradient, OfTermsMatchesDifferences) {
    const Tensor x = numbers({3, 5}, 1), y = numbers({3, 5}, 2);
    const Tensor w = positive({3, 5}, 3);
    for (const std::string how : {"none", "mean", "sum"}) {
        gradients("mse_loss", [&](const In &in) { return F::mse_loss(in[0], in[1], how); }, {x, y});
        gradients("l1_loss", [&](const In &in) { return F::l1_loss(in[0], in[1], how); }, {x, y});
        gradients("smooth_l1_loss",
                  [&](const In &in) { return F::smooth_l1_loss(in[0], in[1], 0.7, how); }, {x, y});
        gradients("huber_loss", [&](const In &in) { return F::huber_loss(in[0], in[1], 0.7, how); },
                  {x, y});
        gradients("binary_cross_entropy",
                  [&](const In &in) { return F::binary_cross_entropy(in[0], in[1], in[2], how); },
                  {positive({3, 5}, 4, 0.05), w, y});
        gradients("binary_cross_entropy_with_logits",
                  [&](const In &in) {
                      return F::binary_cross_entropy_with_logits(in[0], in[1], in[2], in[3], how);
                  },
                  {x, w, y, positive({5}, 5)});
        gradients("kl_div", [&](const In &in) { return F::kl_div(in[0], in[1], how); }, {x, w});
        gradients("soft_margin_loss",
                  [&](const In &in) { return F::soft_margin_loss(in[0], in[1], how); }, {x, y});
        gradients(
            "margin_ranking_loss",
            [&](const In &in) { return F::margin_ranking_loss(in[0], in[1], in[2], 0.3, how); },
            {x, y, w});
        gradients("gaussian_nll_loss",
                  [&](const In &in) {
                      return F::gaussian_nll_loss(in[0], in[1], in[2], 1e-6, true, how);
                  },
                  {x, y, w});
        gradients("poisson_nll_loss",
                  [&](const In &in) { return F::poisson_nll_loss(in[0], in[1], how); }, {x, w});
        gradients("triplet_margin_loss",
                  [&](const In &in) {
                      return F::triplet_margin_loss(in[0], in[1], in[2], 1, 1e-6, true, how);
                  },
                  {x, y, w});
        gradients("cosine_embedding_loss",
                  [&](const In &in) {
                      return F::cosine_embedding_loss(in[0], in[1],
                                                      Tensor::from<int32_t>({1, -1, 1}), 0.1, how);
                  },
                  {x, y});
    }
    gradients("kl_div", [&](const In &in) { return F::kl_div(in[0], in[1], "batchmean", true); },
              {x, y});
    gradients("cosine_similarity",
              [&](const In &in) { return F::cosine_similarity(in[0], in[1], 0); }, {x, y});
    gradients("hinge_embedding_loss",
              [&](const In &in) {
                  return F::hinge_embedding_loss(in[0], Tensor::ones({3, 5}, DType::f64));
              },
              {x});
}

TEST(LossGradient, OfLabelsMatchesDifferences) {
    const Tensor x = numbers({4, 3, 2}, 1);
    const Tensor weight = positive({3}, 2);
    const Tensor labels = Tensor::from<int32_t>({0, 2, 1, -100, 2, 2, 0, 1}, {4, 2});
    const Tensor some_ones = Tensor::from<int32_t>({0, 2, 1, 1, 2, 2, 0, 1}, {4, 2});
    for (const std::string how : {"none", "mean", "sum"}) {
        for (const double smooth : {0.0, 0.2}) {
            gradients("cross_entropy",
                      [&](const In &in) {
                          return F::cross_entropy(in[0], labels, weight, -100, how, smooth);
                      },
                      {x});
            gradients("cross_entropy",
                      [&](const In &in) {
                          return F::cross_entropy(in[0], some_ones, {}, 1, how, smooth);
                      },
                      {x});
            gradients("cross_entropy",
                      [&](const In &in) {
                          return F::cross_entropy(in[0], in[1], weight, -100, how, smooth);
                      },
                      {x, numbers({4, 3, 2}, 7)});
            gradients(
                "nll_loss",
                [&](const In &in) { return F::nll_loss(in[0], labels, weight, -100, how, smooth); },
                {x});
        }
    }
}

TEST(LossGradient, OfCtcMatchesDifferences) {
    const Tensor x = numbers({6, 3, 4}, 1);
    const Tensor targets = Tensor::from<int32_t>({1, 2, 2, 3, 3, 1}, {3, 2}),
                 lengths = Tensor::from<int32_t>({6, 5, 4});
    const Tensor target_lengths = Tensor::from<int32_t>({2, 1, 2});
    for (const std::string how : {"none", "mean", "sum"}) {
        gradients("ctc_loss",
                  [&](const In &in) {
                      return F::ctc_loss(F::log_softmax(in[0]), targets, lengths, target_lengths, 0,
                                         how);
                  },
                  {x});
    }
}

TEST(CtcLoss, IsInfiniteOrZeroWithoutAPath) {
    const Tensor x = F::log_softmax(numbers({2, 1, 3}, 1));
    const Tensor targets = Tensor::from<int32_t>({1, 1}, {1, 2});
    const Tensor two = Tensor::from<int32_t>({2});
    // A repeated label needs a blank between its two.
    EXPECT_EQ(F::ctc_loss(x, targets, two, two, 0, "sum").item(), INFINITY);
    EXPECT_EQ(F::ctc_loss(x, targets, two, two, 0, "sum", true).item(), 0);
}

// Lengths of i64 are converted; under AddressSanitizer it shows if they are read once they are
// freed.
TEST(CtcLoss, TargetsWithMoreLabelsThanSteps) {
    const Tensor x = F::log_softmax(numbers({2, 2, 3}, 1));
    const Tensor targets = Tensor::from<int64_t>({1, 2, 1, 2, 1, 1, 0, 0, 0, 0}, {2, 5});
    const Tensor steps = Tensor::from<int64_t>({2, 2});
    const Tensor labels = Tensor::from<int64_t>({5, 1});
    const Tensor loss = F::ctc_loss(x, targets, steps, labels, 0, "none");
    EXPECT_EQ(loss.at({0}), INFINITY);
    EXPECT_TRUE(std::isfinite(loss.at({1})));
}

TEST(CtcLoss, NaNStaysInItsImage) {
    Tensor x = F::log_softmax(numbers({4, 2, 3}, 1)).to(DType::f32);
    x.set({1, 0, 1}, NAN);
    const Tensor targets = Tensor::from<int32_t>({1, 2, 1, 2}, {2, 2}),
                 lengths = Tensor::from<int32_t>({4, 4}), two = Tensor::from<int32_t>({2, 2});
    const Tensor loss = F::ctc_loss(x, targets, lengths, two, 0, "none");
    EXPECT_TRUE(std::isnan(loss.at({0})));
    EXPECT_FALSE(std::isnan(loss.at({1})));
}

TEST(NormGradient, OfEveryNormMatchesDifferences) {
    const Tensor x = numbers({3, 4, 5}, 1), g = numbers({4}, 2), b = numbers({4}, 3);
    gradients("layer_norm", [&](const In &in) { return F::layer_norm(in[0], in[1], in[2]); },
              {x, numbers({4, 5}, 2), numbers({4, 5}, 3)});
    gradients("layer_norm", [&](const In &in) { return F::layer_norm(in[0], in[1], in[2], 1, 2); },
              {x, numbers({5}, 2), numbers({5}, 3)});
    gradients("rms_norm", [&](const In &in) { return F::rms_norm(in[0], in[1]); },
              {x, numbers({5}, 2)});
    gradients("instance_norm", [&](const In &in) { return F::instance_norm(in[0], in[1], in[2]); },
              {x, g, b});
    gradients("group_norm", [&](const In &in) { return F::group_norm(in[0], in[1], in[2], 2); },
              {x, g, b});
    gradients("l2_normalize", [&](const In &in) { return F::l2_normalize(in[0], 1); }, {x});
    for (const bool training : {true, false}) {
        for (const std::string format : {"NCHW", "NHWC"}) {
            const Shape c{format == "NCHW" ? 4 : 5};
            const auto run = [&](const In &in) {
                return F::batch_norm(in[0], in[1], in[2], Tensor::zeros(c, DType::f64),
                                     Tensor::ones(c, DType::f64), training, 1e-5, 0.1, format);
            };
            gradients("batch_norm", run, {x, numbers(c, 2), numbers(c, 3)});
        }
    }
}

TEST(BatchNorm, NhwcMatchesNchw) {
    const Tensor x = numbers({4, 3, 2, 5}, 1).to(DType::f32);
    const Tensor one = Tensor::ones({3});
    const Tensor zero = Tensor::zeros({3});
    const auto run = [&](const Tensor &t, const std::string &format) {
        const Tensor mean = Tensor::zeros({3});
        const Tensor variance = Tensor::ones({3});
        const Tensor y = F::batch_norm(t, one, zero, mean, variance, true, 1e-5, 0.1, format);
        return In{y, mean, variance};
    };
    const In first = run(x, "NCHW");
    const In last = run(F::copy(F::transpose(x, {0, 2, 3, 1})), "NHWC");
    for (int64_t i = 0; i < 3; i++) {
        EXPECT_NEAR(first[1].at({i}), last[1].at({i}), 1e-7);
        EXPECT_NEAR(first[2].at({i}), last[2].at({i}), 1e-6);
        EXPECT_NEAR(first[0].at({1, i, 1, 2}), last[0].at({1, 1, 2, i}), 1e-6);
    }
    EXPECT_NE(first[1].at({0}), 0);  // The running mean has changed.
}

// In f32 they have kernels of their own, in f64 they are compositions.
TEST(BatchNorm, FusedReluAndShortcutMatchSeparateOps) {
    const In in = {numbers({4, 3, 2, 5}, 1), numbers({3}, 2), numbers({3}, 3),
                   numbers({4, 3, 2, 5}, 4)};
    const Tensor dy = numbers({4, 3, 2, 5}, 5);
    for (const bool shortcut : {false, true}) {
        const auto gradients_in = [&](DType d) {
            In x;
            for (const Tensor &t : in)
                x.push_back(t.to(d));
            Tape tape;
            for (const Tensor &t : x)
                tape.watch(t);
            const Tensor mean = Tensor::zeros({3}, d);
            const Tensor variance = Tensor::ones({3}, d);
            const Tensor y = shortcut ? F::batch_norm_add_relu(x[0], x[1], x[2], mean, variance,
                                                               x[3], true)
                                      : F::batch_norm_relu(x[0], x[1], x[2], mean, variance, true);
            In all = tape.gradient(y, shortcut ? x : In{x[0], x[1], x[2]}, dy.to(d));
            all.push_back(y);
            all.push_back(mean);
            all.push_back(variance);
            return all;
        };
        const In single = gradients_in(DType::f32);
        const In exact = gradients_in(DType::f64);
        for (size_t k = 0; k < single.size(); k++) {
            for (int64_t i = 0; i < single[k].elements(); i++) {
                EXPECT_NEAR(single[k].data<float>()[i], exact[k].data<double>()[i], 4e-6)
                    << k << ", " << i;
            }
        }
    }
}

// The mean is 1e4 standard deviations: E[x^2] - E[x]^2 would have no correct digit in f32.
TEST(Norms, AreAccurateFarFromZero) {
    const Tensor far = Tensor::empty({64, 96});
    const Tensor exact = Tensor::empty({64, 96}, DType::f64);
    for (int64_t i = 0; i < far.elements(); i++) {
        far.data<float>()[i] = 10000.f + float((i * 389 % 997) / 512.0);
        exact.data<double>()[i] = far.data<float>()[i];
    }
    const auto differ = [](const Tensor &a, const Tensor &b) {
        double worst = 0;
        for (int64_t i = 0; i < a.elements(); i++)
            worst = std::fmax(worst, std::fabs(double(a.data<float>()[i]) - b.data<double>()[i]));
        return worst;
    };
    const auto layer = [](const Tensor &x) {
        return F::layer_norm(x, Tensor::ones({96}, x.dtype()), Tensor::zeros({96}, x.dtype()));
    };
    const auto batch = [](const Tensor &x) {
        const auto of = [&](double v) { return Tensor::full({x.shape()[1]}, v, x.dtype()); };
        return F::batch_norm(x, of(1), of(0), of(0), of(1), true);
    };
    EXPECT_LE(differ(layer(far), layer(exact)), 6e-7 * 2);
    EXPECT_LE(differ(batch(far), batch(exact)), 6e-7 * 2);
    EXPECT_LE(differ(batch(reshaped(far, {4, 16, 96})), batch(reshaped(exact, {4, 16, 96}))),
              6e-7 * 2);
}

TEST(Losses, RejectInvalidShapes) {
    const Tensor x = Tensor::zeros({2, 3});
    expect_error<ShapeError>("[cross_entropy] target has shape [3], expected [2] from input[2,3]",
                             [&] {
                                 F::cross_entropy(x, Tensor::from<int32_t>({1, 2, 0}), {});
                             });
    expect_error<ShapeError>("[nll_loss] weight has shape [2], expected [3] from input[2,3]", [&] {
        F::nll_loss(x, Tensor::from<int32_t>({1, 2}), Tensor::ones({2}));
    });
    expect_error<ShapeError>("[layer_norm] gamma has shape [2], expected [3] from x[2,3]",
                             [&] { F::layer_norm(x, Tensor::ones({2}), Tensor::ones({3})); });
    expect_error<AttrError>("[group_norm] num_groups is 2, expected a divisor of c, 3",
                            [&] { F::group_norm(x, Tensor::ones({3}), Tensor::ones({3}), 2); });
    expect_error<AttrError>("[huber_loss] delta is 0.000000, expected more than 0",
                            [&] { F::huber_loss(x, x, 0); });
}

TEST(Losses, RejectLabelsOutOfRange) {
    const Tensor x = Tensor::zeros({2, 3});
    const auto of = [&](int32_t label) { return Tensor::from<int32_t>({1, label}); };
    expect_error<ShapeError>("[cross_entropy] target 1 is 3, expected 0 to 2, or ignore_index -100",
                             [&] { F::cross_entropy(x, of(3), {}); });
    expect_error<ShapeError>(
        "[cross_entropy] target 1 is -1, expected 0 to 2, or ignore_index -100",
        [&] { F::cross_entropy(x, of(-1), {}); });
    expect_error<ShapeError>("[nll_loss] target 1 is -100, expected 0 to 2, or ignore_index 7",
                             [&] { F::nll_loss(x, of(-100), {}, 7); });
    expect_error<ShapeError>(
        "[nll_loss] target 0 is 4294967296, expected 0 to 2, or ignore_index -100", [&] {
            F::nll_loss(x, Tensor::from<int64_t>({int64_t{1} << 32, 1}), {});
        });
    for (const int32_t ignored : {-100, -1, 7, 0})
        EXPECT_EQ(F::nll_loss(x, of(ignored), {}, ignored, "none").at({1}), 0);
    const nn::SoftmaxCrossEntropyWithLogits sparse(true);
    expect_error<ShapeError>("[SoftmaxCrossEntropyWithLogits] labels 1 is 3, expected 0 to 2",
                             [&] { sparse(x, of(3)); });
}

TEST(CtcLoss, RejectsLabelsAndLengthsOutOfRange) {
    const Tensor x = F::log_softmax(numbers({4, 1, 3}, 1));
    const Tensor targets = Tensor::from<int32_t>({1, 2}, {1, 2}), two = Tensor::from<int32_t>({2});
    const auto loss = [&](const Tensor &labels, int32_t steps, int32_t length) {
        return F::ctc_loss(x, labels, Tensor::from<int32_t>({steps}),
                           Tensor::from<int32_t>({length}))
            .item();
    };
    EXPECT_TRUE(std::isfinite(loss(targets, 4, 2)));
    // Values behind a target's length aren't read.
    EXPECT_EQ(loss(Tensor::from<int32_t>({1, 77}, {1, 2}), 4, 1), loss(targets, 4, 1));
    expect_error<ShapeError>("[ctc_loss] targets 0,1 is 3, expected 0 to 2", [&] {
        loss(Tensor::from<int32_t>({1, 3}, {1, 2}), 4, 2);
    });
    expect_error<ShapeError>("[ctc_loss] targets 0,0 is -1, expected 0 to 2", [&] {
        loss(Tensor::from<int32_t>({-1, 2}, {1, 2}), 4, 2);
    });
    expect_error<ShapeError>("[ctc_loss] input_lengths 0 is 5, expected 0 to 4",
                             [&] { loss(targets, 5, 2); });
    expect_error<ShapeError>("[ctc_loss] target_lengths 0 is 3, expected 0 to 2",
                             [&] { loss(targets, 4, 3); });
    expect_error<ShapeError>("[ctc_loss] target_lengths 0 is -1, expected 0 to 2",
                             [&] { loss(targets, 4, -1); });
}

TEST(CtcLoss, NeedsNoMemoryForImpossibleLabels) {
    const int64_t labels = 1 << 20;
    const Tensor x = F::log_softmax(numbers({3, 2, 3}, 1));
    const Tensor wide = Tensor::ones({2, labels}, DType::i32);
    const Tensor steps = Tensor::from<int32_t>({3, 3});
    const Tensor lengths = Tensor::from<int32_t>({1, int32_t(labels)});
    memory::trim();
    const int64_t before = memory::stats().live_bytes;
    // A table of all positions and steps would exceed this.
    memory::set_limit(before + (64 << 20));
    const Tensor loss = F::ctc_loss(x, wide, steps, lengths, 0, "none");
    memory::set_limit(0);
    EXPECT_EQ(loss.at({0}), F::ctc_loss(x, Tensor::ones({2, 1}, DType::i32), steps,
                                        Tensor::from<int32_t>({1, 1}), 0, "none")
                                .at({0}));
    EXPECT_EQ(loss.at({1}), INFINITY);
    EXPECT_EQ(F::ctc_loss(x, Tensor::zeros({2, 0}, DType::i32), steps,
                          Tensor::from<int32_t>({0, 0}), 0, "none")
                  .shape()
                  .text(),
              "[2]");
}

TEST(Statistics, DerivativeOfAConstantsDeviationIsZero) {
    const Tensor x = Tensor::from<double>({2, 2, 2, 1, 2, 3}, {2, 3});
    Tape tape;
    tape.watch(x);
    const Tensor y = F::std(x, {1});
    EXPECT_EQ(y.at({0}), 0);
    const Tensor dx = tape.gradient(y, {x})[0];
    for (int64_t i = 0; i < 3; i++)
        EXPECT_EQ(dx.at({0, i}), 0);
    EXPECT_LT(dx.at({1, 0}), 0);
    EXPECT_GT(dx.at({1, 2}), 0);
    gradient_check([](const In &in) { return F::std(in[0], {0}); }, {numbers({4, 3})});
}

TEST(Prelu, OfAScalarIsAScalar) {
    const Tensor x = Tensor::scalar(-0.5, DType::f64);
    const Tensor weight = Tensor::from<double>({0.25});
    EXPECT_EQ(F::prelu(x, weight).shape().text(), "[]");
    gradient_check([](const In &in) { return F::prelu(in[0], in[1]); }, {x, weight});
}

TEST(Embedding, TakesATableOfRows) {
    expect_error<ShapeError>("[embedding] weight has rank 3, expected 2 (v,d)", [] {
        F::embedding(Tensor::zeros({2}, DType::i32), Tensor::zeros({3, 2, 2}));
    });
}

}  // namespace
}  // namespace halyard
