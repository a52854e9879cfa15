#include "nn/loss_scale.h"

#include <gtest/gtest.h>

#include <cmath>

#include "nn/activation.h"
#include "nn/dense.h"
#include "nn/loss.h"
#include "nn/sequential.h"
#include "nn/wrap.h"
#include "primitives/ops/binary.h"
#include "primitives/ops/random.h"
#include "primitives/ops/reduce.h"
#include "primitives/random.h"
#include "tests/registry/expect_error.h"

using namespace halyard;
using namespace halyard::nn;

namespace {

SequentialCell regression() {
    set_seed(1);
    return SequentialCell({Dense(4, 16), Tanh(), Dense(16, 1)});
}

// Returns the first and the last loss of a network that learns the sum of its inputs.
std::pair<double, double> losses(const Cell &step, int steps) {
    set_seed(2);
    const Tensor x = F::normal({64, 4});
    const Tensor label = F::reduce_sum(x, {1}, true);
    double first = 0, last = 0;
    for (int i = 0; i < steps; i++) {
        last = step(x, label).item();
        first = i ? first : last;
    }
    return {first, last};
}

}  // namespace

TEST(LossScale, FollowsOverflows) {
    const DynamicLossScaleManager m(1024, 2, 3);
    std::vector<double> scales;
    for (const bool overflow :
         {false, false, true, false, false, false, false, false, false, true, true}) {
        m.update_loss_scale(overflow);
        scales.push_back(m.get_loss_scale());
    }
    EXPECT_EQ(scales,
              (std::vector<double>{1024, 1024, 512, 512, 512, 1024, 1024, 1024, 2048, 1024, 512}));
    const DynamicLossScaleManager least(2, 4, 1);
    least.update_loss_scale(true);
    EXPECT_EQ(least.get_loss_scale(), 1);
    const FixedLossScaleManager fixed(128);
    fixed.update_loss_scale(true);
    fixed.update_loss_scale(false);
    EXPECT_EQ(fixed.get_loss_scale(), 128);
    expect_error<AttrError>(
        "[DynamicLossScaleManager] scale_factor is 1.000000, expected more than 1",
        [] { DynamicLossScaleManager(2, 1); });
    expect_error<AttrError>("[LossScaleManager] loss_scale is 0.500000, expected at least 1",
                            [] { FixedLossScaleManager(0.5); });
}

TEST(LossScale, OverflowSkipsTheStep) {
    const SequentialCell net = regression();
    net.to_float(DType::f16);
    const MSELoss loss;
    loss.to_float(DType::f32);
    const Momentum optimizer(net.trainable_params(), 0.05, 0.9);
    const TrainOneStepWithLossScaleCell step(WithLossCell(net, loss), optimizer,
                                             DynamicLossScaleManager(std::pow(2, 30), 2, 2));
    const std::vector<float> before = net.trainable_params()[0].data().to_vector<float>();
    const Tensor x = F::normal({8, 4});
    const Tensor label = Tensor::ones({8, 1});
    step(x, label);
    EXPECT_TRUE(step.overflow());
    EXPECT_EQ(step.loss_scale(), std::pow(2, 29));
    EXPECT_EQ(net.trainable_params()[0].data().to_vector<float>(), before);
    EXPECT_EQ(optimizer.global_step(), 0);
    int skipped = 1;
    for (int i = 0; i < 40 && step.overflow(); i++) {
        step(x, label);
        skipped += step.overflow();
    }
    EXPECT_GT(skipped, 5);
    EXPECT_EQ(step.loss_scale(), std::pow(2, 30 - skipped));
    EXPECT_EQ(optimizer.global_step(), 1);
    EXPECT_NE(net.trainable_params()[0].data().to_vector<float>(), before);
}

TEST(LossScale, HalfPrecisionLearnsLikeFullPrecision) {
    const SequentialCell full = regression();
    const TrainOneStepCell plain(WithLossCell(full, MSELoss()),
                                 Momentum(full.trainable_params(), 0.05, 0.9));
    const auto [first, last] = losses(plain, 100);
    ASSERT_LT(last, 0.05 * first);
    for (const DType type : {DType::f16, DType::bf16}) {
        const SequentialCell half = regression();
        half.to_float(type);
        const MSELoss loss;
        loss.to_float(DType::f32);
        const TrainOneStepWithLossScaleCell step(WithLossCell(half, loss),
                                                 Momentum(half.trainable_params(), 0.05, 0.9),
                                                 DynamicLossScaleManager(65536, 2, 20));
        const auto [half_first, half_last] = losses(step, 100);
        EXPECT_NEAR(half_first, first, 0.02 * first) << name_of(type);
        EXPECT_LT(half_last, 0.08 * first) << name_of(type);
        EXPECT_EQ(half.trainable_params()[0].data().dtype(), DType::f32);
    }
}

// Gradients of 1e-8 are 0 in f16; multiplied by the scale they aren't.
TEST(LossScale, SmallGradientsSurvive) {
    for (const bool scaled : {false, true}) {
        const SequentialCell net({Dense(1, 1, 0.5, 0.0)});
        net.to_float(DType::f16);
        struct Tiny : Cell {
            Tensor construct(const Tensor &y, const Tensor &) const override {
                return F::mul(F::reduce_sum(y), 1e-8);
            }
        };
        const Tiny loss;
        loss.to_float(DType::f32);
        const SGD sgd(net.trainable_params(), 1e6);
        const WithLossCell both(net, loss);
        const Tensor x = Tensor::ones({1, 1});
        if (scaled)
            TrainOneStepWithLossScaleCell(both, sgd, FixedLossScaleManager(65536))(x, x);
        else
            TrainOneStepCell(both, sgd)(x, x);
        EXPECT_NEAR(net.trainable_params()[0].data().item(), scaled ? 0.49 : 0.5, 1e-5);
    }
}
