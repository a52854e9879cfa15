// Tests of layers beyond the goldens: orders of dimensions, names, invalid arguments.
#include <gtest/gtest.h>

#include "nn/activation.h"
#include "nn/basic.h"
#include "nn/conv.h"
#include "nn/dense.h"
#include "nn/embedding.h"
#include "nn/loss.h"
#include "nn/norm.h"
#include "nn/padding.h"
#include "nn/pooling.h"
#include "nn/recurrent.h"
#include "nn/resize.h"
#include "nn/transformer.h"
#include "primitives/autograd/tape.h"
#include "primitives/ops/binary.h"
#include "primitives/ops/random.h"
#include "primitives/ops/reduce.h"
#include "primitives/ops/shapes.h"
#include "primitives/ops/unary.h"
#include "tests/kernels/golden.h"
#include "tests/registry/expect_error.h"

namespace halyard {
namespace {

using namespace nn;

Tensor last(const Tensor &x) {
    return F::transpose(x, {0, 2, 3, 1});
}  // NCHW -> NHWC

TEST(Layers, BatchNormTakesAnActivationAndAShortcut) {
    const Tensor x = F::normal({2, 3, 4, 5}), z = F::normal({2, 3, 4, 5});
    for (const bool training : {true, false}) {
        const BatchNorm2d alone(3);
        const BatchNorm2d with_relu(3, {.activation = "relu"});
        alone.set_train(training);
        with_relu.set_train(training);
        const Tensor pairs[][2] = {{with_relu(x), F::relu(alone(x))},
                                   {with_relu(x, z), F::relu(F::add(alone(x), z))},
                                   {with_relu.moving_mean, alone.moving_mean}};
        for (const auto &[got, expected] : pairs) {
            for (int64_t i = 0; i < got.elements(); i++)
                EXPECT_NEAR(got.data<float>()[i], expected.data<float>()[i], 1e-6) << i;
        }
    }
}

TEST(Layers, NhwcMatchesNchw) {
    const Tensor x = F::normal({2, 4, 7, 6});
    const Conv2d conv(4, 6, {3, 2}, {.stride = 2, .group = 2, .has_bias = true});
    const Conv2d conv_last(4, 6, {3, 2},
                           {.stride = 2, .group = 2, .has_bias = true, .data_format = "NHWC"});
    conv_last.weight.set_data(last(conv.weight));
    conv_last.bias.set_data(conv.bias);
    const auto batch_norm = [](const std::string &format) {
        const BatchNorm2d norm(4, {.gamma_init = 2, .data_format = format});
        norm.set_train();
        return AnyCell(norm);
    };
    const std::vector<std::array<AnyCell, 2>> pairs = {
        {conv, conv_last},
        {MaxPool2d({.kernel_size = 3, .stride = 2}),
         MaxPool2d({.kernel_size = 3, .stride = 2, .data_format = "NHWC"})},
        {AvgPool2d({.kernel_size = 2, .pad_mode = "same"}),
         AvgPool2d({.kernel_size = 2, .pad_mode = "same", .data_format = "NHWC"})},
        {batch_norm("NCHW"), batch_norm("NHWC")}};
    for (const auto &[first, channels_last] : pairs)
        expect_close(channels_last(last(x)), last(first(x)), 2e-6, first.cls_name());
}

std::vector<Tensor> call(const Cell &cell, const Tensor &x) {
    return cell.call(std::vector<Tensor>{x});
}

struct Maximum {
    double value = -INFINITY;
    int64_t at = -1;
};
// Returns the first maximum of a map [h,w] at these places, row by row; places outside don't count.
Maximum first_maximum(const Tensor &map, const Ints &rows, const Ints &columns) {
    Maximum best;
    for (const int64_t i : rows) {
        for (const int64_t j : columns) {
            const bool inside = i >= 0 && j >= 0 && i < map.size(0) && j < map.size(1);
            if (inside && map.at({i, j}) > best.value) best = {map.at({i, j}), i * map.size(1) + j};
        }
    }
    return best;
}

TEST(Layers, MaxPoolDilatesAndReturnsIndices) {
    const Tensor x = F::normal({2, 3, 9, 17});
    const MaxPool2d pool({.kernel_size = {3, 2},
                          .stride = {2, 1},
                          .pad_mode = "pad",
                          .padding = {2, 1, 1, 2},
                          .dilation = {2, 3},
                          .return_indices = true});
    const std::vector<Tensor> both = call(pool, x);
    ASSERT_EQ(both.size(), 2u);
    ASSERT_EQ(both[0].shape(), (Shape{2, 3, 4, 17}));  // (9+3-5)/2+1 and 17+3-4+1
    ASSERT_EQ(both[1].dtype(), DType::i32);
    const Tensor maps = x.reshape({6, 9, 17});
    const Tensor y = both[0].reshape({6, 4, 17}), indices = both[1].reshape({6, 4, 17});
    for (int64_t m = 0; m < 6; m++) {
        for (int64_t a = 0; a < 4; a++) {
            for (int64_t b = 0; b < 17; b++) {
                const Maximum expected = first_maximum(maps[m], {a * 2 - 2, a * 2, a * 2 + 2},
                                                       {b - 1, b + 2});
                EXPECT_EQ(y.at({m, a, b}), expected.value);
                EXPECT_EQ(indices.at({m, a, b}), double(expected.at));
            }
        }
    }
    EXPECT_THROW(pool(x), ShapeError);  // it has two outputs
    EXPECT_EQ(pool.extend_repr(), "kernel_size=(3, 2), stride=(2, 1), pad_mode=pad, padding=(2, 1, "
                                  "1, 2), dilation=(2, 3), return_indices=true");
    EXPECT_THROW(MaxPool2d({.dilation = 0}), AttrError);
}

TEST(Layers, MaxUnpoolPutsMaximaBack) {
    const auto expect_same_maxima = [](const auto &pool, const auto &unpool, const Tensor &x) {
        const std::vector<Tensor> both = call(pool, x);
        const Tensor back = unpool(both[0], both[1]);
        ASSERT_EQ(back.shape(), x.shape());
        const std::vector<Tensor> again = call(pool, back);
        // Windows don't overlap, and all maxima are above 0.
        EXPECT_EQ(again[0].to_vector<float>(), both[0].to_vector<float>());
        EXPECT_EQ(again[1].to_vector<int32_t>(), both[1].to_vector<int32_t>());
    };
    const auto positive = [](const Ints &shape) { return F::exp(F::normal(shape)); };
    expect_same_maxima(MaxPool1d({.kernel_size = 3, .stride = 3, .return_indices = true}),
                       MaxUnpool1d({.kernel_size = 3}), positive({2, 3, 33}));
    expect_same_maxima(MaxPool2d({.kernel_size = 2, .stride = 2, .return_indices = true}),
                       MaxUnpool2d({.kernel_size = 2}), positive({1, 5, 8, 6}));
    expect_same_maxima(MaxPool3d({.kernel_size = 2, .stride = 2, .return_indices = true}),
                       MaxUnpool3d({.kernel_size = 2, .stride = 2}), positive({2, 1, 4, 6, 2}));
    const Tensor image = positive({2, 3, 7, 6});
    const MaxPool2d pool({.kernel_size = 2, .stride = 2, .return_indices = true});
    const MaxPool2d last_pool(
        {.kernel_size = 2, .stride = 2, .data_format = "NHWC", .return_indices = true});
    const std::vector<Tensor> first = call(pool, image);
    const std::vector<Tensor> channels_last = call(last_pool, last(image));
    for (size_t k : {0, 1})
        expect_close(channels_last[k], last(first[k]), 0, "NHWC");
    const Tensor whole = MaxUnpool2d({.kernel_size = 2}).construct(first[0], first[1], {7, 6});
    EXPECT_EQ(whole.shape(), (Shape{2, 3, 7, 6}));
    EXPECT_EQ(MaxUnpool2d({.kernel_size = 2})(first[0], first[1]).shape(), (Shape{2, 3, 6, 6}));
    EXPECT_THROW(MaxUnpool2d({.kernel_size = 0}), AttrError);
    EXPECT_THROW(MaxUnpool2d()(image.reshape({6, 7, 6}), first[1]), ShapeError);
}

TEST(Layers, TakeChoicesAsConstantsAndAsText) {
    const Tensor x = F::normal({2, 4, 7, 6});
    const auto same = [&](const AnyCell &constant, const AnyCell &text) {
        EXPECT_EQ(constant(x).to_vector<float>(), text(x).to_vector<float>())
            << constant.cls_name();
    };
    same(MaxPool2d({.kernel_size = 3, .pad_mode = F::PadMode::same}),
         MaxPool2d({.kernel_size = 3, .pad_mode = "same"}));
    same(Upsample({.size = {9, 8}, .mode = F::Interpolation::bilinear}),
         Upsample({.size = {9, 8}, .mode = "bilinear"}));
    EXPECT_EQ(MSELoss(F::Reduction::sum)(x, -x).item<float>(), MSELoss("sum")(x, -x).item<float>());
    EXPECT_EQ(KLDivLoss(F::KlDivReduction::batchmean)(x, x * x).item<float>(),
              KLDivLoss("batchmean")(x, x * x).item<float>());
}

TEST(Layers, NamesOfParameters) {
    const auto names = [](const AnyCell &cell) {
        std::string all;
        for (const Parameter &p : cell.get_parameters()) {
            all += (all.empty() ? "" : " ") + p.name() + (p.requires_grad() ? "" : "*") +
                   p.shape().text();
        }
        return all;
    };
    EXPECT_EQ(names(BatchNorm2d(3)), "moving_mean*[3] moving_variance*[3] gamma[3] beta[3]");
    EXPECT_EQ(names(GroupNorm(2, 4, {.affine = false})), "gamma*[4] beta*[4]");
    EXPECT_EQ(names(Conv1d(4, 6, 3, {.group = 2})), "weight[6,2,1,3]");
    EXPECT_EQ(names(Conv2dTranspose(4, 6, {3, 5}, {.group = 2, .has_bias = true})),
              "weight[4,3,3,5] bias[6]");
    EXPECT_EQ(
        names(GRU(5, 2, {.num_layers = 2, .has_bias = false, .bidirectional = true})),
        "weight_ih_l0[6,5] weight_hh_l0[6,2] weight_ih_l0_reverse[6,5] weight_hh_l0_reverse[6,2] "
        "weight_ih_l1[6,4] weight_hh_l1[6,2] weight_ih_l1_reverse[6,4] weight_hh_l1_reverse[6,2]");
    EXPECT_EQ(names(LSTMCell(3, 2)), "weight_ih[8,3] weight_hh[8,2] bias_ih[8] bias_hh[8]");
    EXPECT_EQ(names(TransformerEncoder(TransformerEncoderLayer(4, 2, {.dim_feedforward = 3}), 1)),
              "layers.0.self_attn.in_proj_weight[12,4] layers.0.self_attn.in_proj_bias[12] "
              "layers.0.self_attn.out_proj.weight[4,4] "
              "layers.0.self_attn.out_proj.bias[4] layers.0.dense1.weight[3,4] "
              "layers.0.dense1.bias[3] layers.0.dense2.weight[4,3] layers.0.dense2.bias[4] "
              "layers.0.norm1.gamma[4] layers.0.norm1.beta[4] layers.0.norm2.gamma[4] "
              "layers.0.norm2.beta[4]");
}

TEST(Layers, OneStepCellsMatchTheirLayers) {
    const Tensor x = F::normal({1, 3, 4});
    const Tensor step = F::reshape(x, {3, 4});
    const Tensor h = Tensor::zeros({3, 5});
    const auto same = [](const Cell &cell, const Cell &layer) {
        const ParameterTuple from = layer.get_parameters();
        const ParameterTuple to = cell.get_parameters();
        for (size_t k = 0; k < from.size(); k++)
            to[k].set_data(from[k]);
    };
    const LSTM lstm(4, 5);
    const LSTMCell lstm_cell(4, 5);
    same(lstm_cell, lstm);
    expect_close(lstm_cell(step, h, h)[1], F::reshape(lstm(x).c, {3, 5}), 1e-6, "LSTMCell");
    const GRU gru(4, 5, {.has_bias = false});
    const GRUCell gru_cell(4, 5, false);
    same(gru_cell, gru);
    expect_close(gru_cell(step, h), F::reshape(gru(x).h, {3, 5}), 1e-6, "GRUCell");
    const RNN rnn(4, 5, {}, "relu");
    const RNNCell rnn_cell(4, 5, true, "relu");
    same(rnn_cell, rnn);
    expect_close(rnn_cell(step, h), F::reshape(rnn(x).h, {3, 5}), 1e-6, "RNNCell");
}

TEST(Layers, DropoutBetweenRecurrentLayersOnlyInTraining) {
    const LSTM lstm(4, 5, {.num_layers = 2, .dropout = 0.5});
    const Tensor x = F::normal({3, 2, 4});
    const std::vector<float> y = lstm(x).output.to_vector<float>();
    EXPECT_EQ(lstm(x).output.to_vector<float>(), y);
    lstm.set_train();
    EXPECT_NE(lstm(x).output.to_vector<float>(), y);
}

TEST(Layers, CustomLosses) {
    struct Squared : LossBase {
        using LossBase::LossBase;
        Tensor construct(const Tensor &y, const Tensor &label) const override {
            return get_loss(F::square(F::sub(y, label)));
        }
        Tensor construct(const Tensor &y, const Tensor &label,
                         const Tensor &weights) const override {
            return get_loss(F::square(F::sub(y, label)), weights);
        }
    };
    const Tensor y = Tensor::from<float>({1, 2}), label = Tensor::from<float>({3, 5}),
                 weights = Tensor::from<float>({2, 0});
    EXPECT_EQ(Squared()(y, label).item(), 6.5);
    EXPECT_EQ(Squared("sum")(y, label).item(), 13);
    EXPECT_EQ(Squared("none")(y, label).to_vector<float>(), (std::vector<float>{4, 9}));
    EXPECT_EQ(Squared("sum")(y, label, weights).item(), 8);
}

TEST(Layers, EdgeCases) {
    const Embedding embedding(5, 2, "ones", 3);
    EXPECT_EQ(embedding(Tensor::from<int32_t>({3, 4})).to_vector<float>(),
              (std::vector<float>{0, 0, 1, 1}));
    const Tensor x = Tensor::from<float>({1, 2, 3}).reshape({1, 1, 3});
    EXPECT_EQ(ConstantPad1d({1, 2}, 7)(x).to_vector<float>(),
              (std::vector<float>{7, 1, 2, 3, 7, 7}));
    EXPECT_EQ(ReflectionPad1d(2)(x).to_vector<float>(), (std::vector<float>{3, 2, 1, 2, 3, 2, 1}));
    EXPECT_EQ(ReplicationPad1d({2, 0})(x).to_vector<float>(), (std::vector<float>{1, 1, 1, 2, 3}));
    EXPECT_EQ(ZeroPad2d({1, 0, 0, 1})(x).to_vector<float>(),
              (std::vector<float>{0, 1, 2, 3, 0, 0, 0, 0}));
    EXPECT_EQ(Pad({{0, 0}, {0, 0}, {0, 2}}, "SYMMETRIC")(x).to_vector<float>(),
              (std::vector<float>{1, 2, 3, 3, 2}));
    EXPECT_EQ(get_activation("hardtanh")(x).to_vector<float>(), (std::vector<float>{1, 1, 1}));
    EXPECT_EQ(get_activation("leakyrelu").cls_name(), "LeakyReLU");
    EXPECT_EQ(Threshold(2, -1)(x).to_vector<float>(), (std::vector<float>{-1, -1, 3}));
    EXPECT_NEAR(RMSELoss()(x, Tensor::zeros({1, 1, 3})).item(), 2.1602469, 1e-6);
}

TEST(Layers, NormsRejectInvalidArguments) {
    const Tensor x = Tensor::ones({2, 3, 4}), plane = Tensor::ones({2, 3, 4, 4});
    expect_error<AttrError>("[BatchNorm2d] momentum is 1.500000, expected 0 <= momentum <= 1",
                            [] { BatchNorm2d(3, {.momentum = 1.5}); });
    expect_error<AttrError>("[BatchNorm1d] data_format is NHWC, expected NCHW",
                            [] { BatchNorm1d(3, {.data_format = "NHWC"}); });
    expect_error<AttrError>("[BatchNorm2d] activation is tanh, expected relu or none",
                            [] { BatchNorm2d(3, {.activation = "tanh"}); });
    expect_error<ShapeError>(
        "[BatchNorm2d] got 2 tensors, expected 1: a shortcut is added only before an activation",
        [&] { BatchNorm2d(3)(plane, plane); });
    expect_error<ShapeError>("[BatchNorm2d] x's rank is 3, expected 4", [&] { BatchNorm2d(3)(x); });
    expect_error<ShapeError>("[BatchNorm1d] x's rank is 4, expected 2 or 3",
                             [&] { BatchNorm1d(3)(plane); });
    expect_error<ShapeError>("[InstanceNorm1d] x's rank is 4, expected 3",
                             [&] { InstanceNorm1d(3)(plane); });
    expect_error<AttrError>("[GroupNorm] num_channels is 5, expected a multiple of num_groups 2",
                            [] { GroupNorm(2, 5); });
}

TEST(Layers, ConvolutionsPoolsAndPaddingRejectInvalidArguments) {
    const Tensor x = Tensor::ones({2, 3, 4});
    expect_error<AttrError>("[Conv3d] data_format is NHWC, expected NCDHW",
                            [] { Conv3d(1, 1, 1, {.data_format = "NHWC"}); });
    expect_error<AttrError>(
        "[Conv1dTranspose] output_padding is not 0, but pad_mode is same, expected pad",
        [] { Conv1dTranspose(1, 1, 3, {.stride = 2, .output_padding = 1}); });
    expect_error<AttrError>("[AdaptiveAvgPool2d] output_size is 0, expected at least 1", [] {
        AdaptiveAvgPool2d({3, 0});
    });
    expect_error<ShapeError>("[GlobalAvgPool] x's rank is 2, expected at least 3", [] {
        GlobalAvgPool()(Tensor::ones({2, 3}));
    });
    expect_error<AttrError>("[Embedding] padding_idx is 5, expected 0 to vocab_size - 1, 4",
                            [] { Embedding(5, 2, "normal", 5); });
    expect_error<AttrError>("[Pad] mode is EDGE, expected CONSTANT, REFLECT or SYMMETRIC", [] {
        Pad({{0, 1}}, "EDGE");
    });
    expect_error<ShapeError>("[Pad] x's rank is 3, expected 1, the number of paddings", [&] {
        Pad({{0, 1}})(x);
    });
    expect_error<AttrError>("[Upsample] both of size and scale_factor given, expected one",
                            [] { Upsample({.size = {4}, .scale_factor = 2}); });
    expect_error<AttrError>("[ResizeBilinear] neither of size and scale_factor given, expected one",
                            [] { ResizeBilinear({}); });
}

TEST(Layers, RecurrentAndTransformerLayersRejectInvalidArguments) {
    const Tensor x = Tensor::ones({2, 3, 4});
    expect_error<AttrError>("[LSTM] num_layers is 0, expected at least 1",
                            [] { LSTM(4, 5, {.num_layers = 0}); });
    expect_error<ShapeError>("[LSTM] x's last extent is 4, expected input_size 3", [&] {
        LSTM(3, 5)(x);
    });
    expect_error<ShapeError>("[GRU] h0 has shape [1,2,5], expected [1,3,5]", [&] {
        GRU(4, 5)(x, Tensor::zeros({1, 2, 5}));
    });
    expect_error<ShapeError>("[RNN] seq_length has shape [2], expected [3]", [&] {
        RNN(4, 5)(x, {}, Tensor::from<int32_t>({1, 2}));
    });
    expect_error<AttrError>("[RNNCell] nonlinearity is sin, expected tanh or relu",
                            [] { RNNCell(4, 5, true, "sin"); });
    expect_error<AttrError>(
        "[MultiheadAttention] embed_dim is 4, expected a multiple of num_heads 3",
        [] { MultiheadAttention(4, 3); });
    expect_error<ShapeError>("[MultiheadAttention] query's last extent is 4, expected embed_dim 6",
                             [&] { MultiheadAttention(6, 3)(x, x, x); });
    expect_error<ShapeError>("[MultiheadAttention] attn_mask has shape [3,3], expected [2,2]", [&] {
        MultiheadAttention(4, 2)(x, x, x, Tensor(), Tensor::zeros({3, 3}));
    });
    expect_error<AttrError>("[TransformerEncoderLayer] activation is tanh, expected relu or gelu",
                            [] { TransformerEncoderLayer(4, 2, {.activation = "tanh"}); });
}

TEST(Layers, LossesAndDropoutRejectInvalidArguments) {
    const Tensor x = Tensor::ones({2, 3, 4});
    expect_error<AttrError>("[loss] reduction is median, expected none, mean or sum",
                            [] { MSELoss("median"); });
    expect_error<ShapeError>("[CTCLoss] inputs are 2 tensors, expected 4",
                             [&] { CTCLoss()(x, x); });
    expect_error<AttrError>("[Dropout2d] p is 1.000000, expected 0 <= p < 1", [] { Dropout2d(1); });
}

TEST(Layers, GradientsPassThroughAReshape) {
    const Dense first(6, 8), second(4, 2);
    const Tensor x = F::normal({3, 6});
    const auto gradients = [&](const auto &between) {
        const auto f = [&](const std::vector<Tensor> &in) {
            return F::reduce_sum(F::square(second(between(first(in[0])))));
        };
        return value_and_grad(Function(f), {}, {first.weight, second.weight})({x}).parameters;
    };
    const auto got = gradients([](const Tensor &h) { return h.reshape({-1, 4}); });
    const auto expected = gradients([](const Tensor &h) { return F::reshape(h, {-1, 4}); });
    for (size_t k = 0; k < expected.size(); k++) {
        EXPECT_EQ(got[k].to_vector<float>(), expected[k].to_vector<float>()) << k;
        EXPECT_GT(F::reduce_sum(F::abs(got[k])).item(), 0) << k;
    }
}

}  // namespace
}  // namespace halyard
