// Trains LeNet-5 on a GPU, beside MindSpore's numbers (net_lenet5.npz).
#pragma once
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "examples/lenet5/lenet5.h"
#include "nn/loss.h"
#include "nn/wrap.h"
#include "registry/dispatch/registry.h"
#include "registry/gpu/gpu.h"
#include "registry/tensor/npy.h"
#include "tests/train/hash_weights.h"

namespace halyard::testing_inputs {

struct Batch {
    Tensor x, y;
};

inline Batch golden_batch() {
    std::vector<int32_t> labels(32);
    for (int i = 0; i < 32; i++)
        labels[size_t(i)] = i * 7 % 10;
    return {hash_uniform({32, 1, 32, 32}, 100), Tensor::from(labels, {32})};
}

// A step reads its batch and gives its loss; weights, gradients and the optimiser's state stay on
// the device, and after the first step it has all memory that it needs.
inline void expect_to_stay_on(const std::string &backend, size_t steps) {
    set_device(backend);
    const auto golden = load_npz(HALYARD_SOURCE_DIR "/tests/goldens/net_lenet5.npz");
    const examples::LeNet5 net(10);
    set_hash_weights(net);
    const auto [x, y] = golden_batch();
    const nn::WithLossCell with_loss(net, nn::SoftmaxCrossEntropyWithLogits(true, "mean"));
    const nn::TrainOneStepCell step(with_loss, nn::Momentum(net.trainable_params(), 0.01, 0.9));
    step.set_train();
    std::vector<double> losses = golden.at("losses_builtin").to_vector<double>();
    losses.resize(steps);
    gpu::Counters before;
    gpu::Counters after;
    for (const double loss : losses) {
        before = gpu::gpu(backend).counters();
        EXPECT_NEAR(step(x.copy(), y.copy()).item(), loss, 2e-6);
        after = gpu::gpu(backend).counters();
    }
    EXPECT_EQ(after.uploads - before.uploads, 2);
    EXPECT_EQ(after.downloads - before.downloads, 1);
    EXPECT_EQ(after.driver_allocations - before.driver_allocations, 0);
    EXPECT_EQ(after.launches - before.launches, 50);
    set_device("cpu");
}

}  // namespace halyard::testing_inputs
