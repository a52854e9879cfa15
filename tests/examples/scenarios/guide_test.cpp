// Compares the examples of examples/guide with MindSpore's numbers.
#include <gtest/gtest.h>

#include "examples/guide/gradient_accumulation.h"
#include "examples/guide/relu_reduce_mean_dense.h"
#include "examples/guide/train_one_step_cell.h"
#include "examples/lenet5/lenet5.h"
#include "nn/loss.h"
#include "nn/wrap.h"
#include "primitives/ops/binary.h"
#include "tests/kernels/golden.h"
#include "tests/train/hash_weights.h"

namespace halyard {
namespace {

using testing_inputs::hash_uniform;
using testing_inputs::set_hash_weights;

Tensor labels(int n, int step, int classes) {
    const Tensor y = Tensor::empty({n}, DType::i32);
    for (int i = 0; i < n; i++)
        y.data<int32_t>()[i] = i * step % classes;
    return y;
}

struct LeNet {
    examples::LeNet5 net{10};
    nn::WithLossCell with_loss{net, nn::SoftmaxCrossEntropyWithLogits(true, "mean")};
    nn::Momentum momentum{net.trainable_params(), 0.01, 0.9};
    Tensor x = hash_uniform({32, 1, 32, 32}, 100);
    Tensor y = labels(32, 7, 10);
    LeNet() {
        set_hash_weights(net);
        net.set_train();
    }
};

TEST(Guide, PowMatchesMindSpore) {
    const auto golden = halyard::golden("tensor_pow_seed001");
    expect_close(ops::Pow()(Tensor::from<float>({1, 2, 4}), 3.0), golden.at("y0"), 0, "Pow");
    expect_close(F::tensor_pow(Tensor::from<float>({1, 2, 4}), 3.0), golden.at("y0"), 0,
                 "tensor_pow");
}

// Tolerances are those of nn::TrainOneStepCell in tests/train/scenarios/lenet5_test.cpp.
TEST(Guide, TrainOneStepCellMatchesMindSpore) {
    const auto golden = halyard::golden("net_lenet5");
    const LeNet s, scaled;
    const examples::TrainOneStepCell step(s.with_loss, s.momentum);
    for (const double loss : golden.at("losses_seedcell").to_vector<double>())
        EXPECT_NEAR(step(s.x, s.y).item(), loss, 2e-6);
    for (const Parameter &p : s.net.get_parameters())
        expect_close(p.data(), golden.at("after10_" + p.name()), 5e-7, p.name());

    const examples::TrainOneStepCell twice(
        scaled.with_loss,
        nn::Momentum(scaled.net.trainable_params(), 0.01, 0.9, {.loss_scale = 2}));
    twice.set_sens(2);
    const LeNet same;
    const examples::TrainOneStepCell once(same.with_loss, same.momentum);
    (void)twice(s.x, s.y);
    (void)once(s.x, s.y);
    EXPECT_EQ(scaled.net.fc3.weight.data().to_vector<float>(),
              same.net.fc3.weight.data().to_vector<float>());
}

// Trains twelve batches of 8 with an update every four; the goldens differ from batches of 32 by
// 3e-8.
TEST(Guide, GradientAccumulationMatchesMindSpore) {
    const auto golden = halyard::golden("net_lenet5_grad_accumulation");
    const LeNet s;
    const ParameterTuple sums = examples::zeros_like(s.net.trainable_params());
    const examples::TrainForwardBackward forward_backward(s.with_loss, sums);
    const std::vector<double> losses = golden.at("micro_losses").to_vector<double>();
    for (size_t k = 0; k < losses.size(); k++) {
        const int64_t from = int64_t(k % 4) * 8;
        EXPECT_NEAR(
            forward_backward(s.x.slice(0, from, from + 8), s.y.slice(0, from, from + 8)).item(),
            losses[k], 2e-6)
            << k;
        if (k % 4 == 3) examples::optimize(s.momentum, sums, 4);
    }
    for (const char *name : {"conv1.weight", "fc3.weight", "fc3.bias"}) {
        expect_close(s.net.parameters_dict().at(name).data(),
                     golden.at(std::string("after3_") + name), 5e-7, name);
    }
}

// One step has one-hot labels and one has labels that are all zero. There MindSpore's parameters
// change although the loss is 0, because its gradient is softmax - label whatever the labels' sum.
// Ours stay, as the derivative of a constant requires.
TEST(Guide, ReLUReduceMeanDenseMatchesMindSpore) {
    const auto golden = halyard::golden("net_relureducemeandense");
    const Tensor x = hash_uniform({32, 2048, 7, 7}, 1);
    for (const std::string kind : {"zero", "onehot"}) {
        const examples::ReLUReduceMeanDense net(Tensor::ones({1000, 2048}), Tensor::ones({1000}),
                                                2048, 1000);
        Tensor label = Tensor::zeros({32, 1000});
        if (kind == "onehot") {
            for (int i = 0; i < 32; i++)
                label.set({i, i * 31 % 1000}, 1);
        }
        expect_close(net(x).slice(0, 0, 1).slice(1, 0, 8).reshape({8}),
                     golden.at(kind + "_logits_row0_first8"), 1e-6, "logits");
        const nn::TrainOneStepCell step(
            nn::WithLossCell(net, nn::SoftmaxCrossEntropyWithLogits(false)),
            nn::Momentum(net.trainable_params(), 0.1, 0.1));
        // All logits of a row are equal, around 513, except for the order of their sums: an ulp
        // there is 6.1e-5, and 9e-6 of the loss.
        expect_close(step(x, label), golden.at(kind + "_loss"), 9e-6, kind);
        const auto first16 = [&](int row) {
            return net.dense.weight.data().slice(0, row, row + 1).slice(1, 0, 16).reshape({16});
        };
        expect_close(first16(0),
                     kind == "zero" ? Tensor::ones({16}) : golden.at("onehot_w_after_row0_first16"),
                     1e-6, kind + " row 0");
        expect_close(first16(31),
                     kind == "zero" ? Tensor::ones({16})
                                    : golden.at("onehot_w_after_row31_first16"),
                     1e-6, kind + " row 31");
        expect_close(net.dense.bias,
                     kind == "zero" ? Tensor::ones({1000}) : golden.at("onehot_b_after"), 1e-6,
                     kind + " bias");
    }
}

}  // namespace
}  // namespace halyard
