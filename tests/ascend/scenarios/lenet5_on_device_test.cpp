// Trains LeNet-5 on the simulated device: every op of a step runs there, and losses match the
// CPU's.
#include <gtest/gtest.h>

#include "examples/lenet5/lenet5.h"
#include "nn/loss.h"
#include "nn/loss_scale.h"
#include "nn/wrap.h"
#include "primitives/context.h"
#include "primitives/random.h"

namespace halyard {
namespace {

constexpr int steps = 20;

// Returns the losses of digits trained by Momentum with a scaled loss. Weights and loss are f32,
// what is between them is `dtype`. The example's initial weights are so small that nothing is
// learnt in 20 steps, so others are used.
std::vector<double> losses(const std::string &device, DType dtype) {
    set_context({.device_target = device});
    set_seed(10);
    const dataset::Dataset digits = examples::create_dataset(
        HALYARD_SOURCE_DIR "/data/digits/28/train", 24);
    const examples::LeNet5 net(10);
    for (const Parameter &w : net.trainable_params())
        if (w.shape().rank() > 1) w.set_data(nn::initializer(nn::XavierUniform(), w.shape()));
    net.to_float(dtype);
    const nn::SoftmaxCrossEntropyWithLogits loss(true, "mean");
    loss.to_float(DType::f32);
    const nn::TrainOneStepWithLossScaleCell step(nn::WithLossCell(net, loss),
                                                 nn::Momentum(net.trainable_params(), 0.003, 0.9),
                                                 nn::FixedLossScaleManager(1024));
    step.set_train();
    std::vector<double> all;
    for (const dataset::Row &row : digits.create_dict_iterator()) {
        all.push_back(step(row["image"], row["label"]).item());
        if (all.size() == steps) break;
    }
    set_context({.device_target = "CPU"});
    return all;
}

TEST(LeNet5, TrainsOnAscend) {
    testing::internal::CaptureStderr();
    const std::vector<double> here = losses("Ascend", DType::f16);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");  // Nothing ran on the CPU.
    const std::vector<double> there = losses("CPU", DType::f32);
    ASSERT_EQ(here.size(), size_t(steps));
    for (size_t i = 0; i < steps; i++)
        EXPECT_NEAR(here[i], there[i], 0.02 * there[i]) << "step " << i;
    EXPECT_LT(here.back(), 0.85 * here.front());
}

}  // namespace
}  // namespace halyard
