// Compares layers that no MindSpore golden covers with PyTorch (tests/goldens/layers_pytorch.py):
// outputs, gradients in inputs and in parameters.
#include <functional>

#include "nn/activation.h"
#include "nn/conv.h"
#include "nn/norm.h"
#include "nn/pooling.h"
#include "nn/recurrent.h"
#include "nn/resize.h"
#include "nn/transformer.h"
#include "primitives/autograd/tape.h"
#include "tests/kernels/golden.h"

namespace halyard {
namespace {

using namespace nn;
using In = std::vector<Tensor>;
using Call = std::function<std::vector<Tensor>(const In &)>;

// Runs one case of the file: its inputs are passed to `call`, which uses `cell`. Inputs without a
// gradient in the file are masks and lengths.
void expect_case(const std::string &name, const AnyCell &cell, Call call = {}) {
    static const std::map<std::string, Tensor> arrays = golden("layers_pytorch");
    const auto of = [&](const std::string &key) { return arrays.at(name + "/" + key); };
    const auto all = [&](const std::string &key) {
        In found;
        while (arrays.count(name + "/" + key + std::to_string(found.size())))
            found.push_back(of(key + std::to_string(found.size())));
        return found;
    };
    if (!call) call = [&](const In &x) { return cell.call(x); };
    const In x = all("x"), y = all("y"), dx = all("dx");
    ASSERT_FALSE(y.empty()) << name;
    auto named = cell.parameters_and_names();
    std::erase_if(named, [](const auto &e) { return !e.second.requires_grad(); });
    In watched(x.begin(), x.begin() + long(dx.size()));
    for (const auto &[path, p] : named) {
        p.set_data(of("p_" + path));
        watched.push_back(p);
    }
    Tape tape;
    for (const Tensor &t : watched)
        tape.watch(t);
    const std::vector<Tensor> got = call(x);
    ASSERT_EQ(got.size(), y.size()) << name;
    for (size_t k = 0; k < y.size(); k++)
        expect_close(got[k], y[k], 1e-6, name + " y" + std::to_string(k));
    const std::vector<Tensor> d = tape.gradient(got, watched, all("dy"));
    for (size_t k = 0; k < dx.size(); k++)
        expect_close(d[k], dx[k], 1e-6, name + " dx" + std::to_string(k));
    for (size_t k = 0; k < named.size(); k++) {
        expect_close(d[dx.size() + k], of("dp_" + named[k].first), 1e-6,
                     name + " d" + named[k].first);
    }
}

TEST(PyTorchGolden, Recurrent) {
    const LSTM lengths(4, 6, {.num_layers = 2, .bidirectional = true});
    const GRU gru_lengths(4, 6);
    const auto with_lengths = [](const auto &cell) {
        return [&cell](const In &x) { return cell.call(In{x[0], Tensor(), x[1]}); };
    };
    expect_case("lstm", LSTM(4, 6));
    expect_case("lstm_state", LSTM(4, 6, {.has_bias = false}));
    expect_case("lstm_2_both_ways", LSTM(4, 6, {.num_layers = 2, .bidirectional = true}));
    expect_case("lstm_lengths", lengths, [&](const In &x) {
        const auto [output, h, c] = lengths(x[0], {}, {}, x[1]);
        return In{output, h, c};
    });
    expect_case("gru_2_both_ways",
                GRU(4, 6, {.num_layers = 2, .batch_first = true, .bidirectional = true}));
    expect_case("gru_lengths", gru_lengths, with_lengths(gru_lengths));
    expect_case("rnn_tanh", RNN(4, 6, {.num_layers = 2}));
    expect_case("rnn_relu", RNN(4, 6, {}, "relu"));
}

TEST(PyTorchGolden, Transformer) {
    const auto attention = [](const std::string &name, const MultiheadAttention &cell,
                              const Call &in) {
        expect_case(name, cell, [&](const In &x) { return cell.call(in(x)); });
    };
    attention("attention_self", MultiheadAttention(8, 2), [](const In &x) {
        return In{x[0], x[0], x[0]};
    });
    attention("attention_weights",
              MultiheadAttention(8, 2, {.batch_first = true, .need_weights = true}),
              [](const In &x) {
                  return In{x[0], x[0], x[0]};
              });
    attention("attention_cross", MultiheadAttention(8, 2, {.kdim = 5, .vdim = 7}),
              [](const In &x) { return x; });
    attention("attention_masked", MultiheadAttention(8, 2, {.has_bias = false}), [](const In &x) {
        return In{x[0], x[1], x[1], x[2], x[3]};
    });
    attention("attention_causal", MultiheadAttention(8, 2), [](const In &x) {
        return In{x[0], x[0], x[0], Tensor(), x[1]};
    });

    const TransformerEncoderLayer layer(8, 2, {.dim_feedforward = 10, .dropout = 0});
    const TransformerEncoderLayer first(8, 2,
                                        {.dim_feedforward = 10,
                                         .dropout = 0,
                                         .activation = "gelu",
                                         .batch_first = true,
                                         .norm_first = true});
    expect_case("encoder_layer", layer);
    expect_case("encoder_layer_norm_first", first, [&](const In &x) {
        return first.call(In{x[0], Tensor(), x[1]});
    });
    expect_case("encoder", TransformerEncoder(layer, 2, LayerNorm({8}, {.epsilon = 1e-5})));
}

TEST(PyTorchGolden, Convolutions) {
    expect_case("conv3d", Conv3d(4, 6, {2, 3, 3},
                                 {.stride = {1, 2, 1},
                                  .pad_mode = "pad",
                                  .padding = {0, 0, 1, 1, 1, 1},
                                  .dilation = {1, 1, 2},
                                  .group = 2,
                                  .has_bias = true}));
    expect_case("conv1d_transpose", Conv1dTranspose(4, 6, 3,
                                                    {.stride = 2,
                                                     .pad_mode = "pad",
                                                     .padding = 1,
                                                     .output_padding = 1,
                                                     .group = 2,
                                                     .has_bias = true}));
    expect_case(
        "conv3d_transpose",
        Conv3dTranspose(2, 3, 3, {.stride = 2, .pad_mode = "pad", .padding = 1, .has_bias = true}));
}

TEST(PyTorchGolden, Norms) {
    expect_case("groupnorm", GroupNorm(3, 6));
    expect_case("instancenorm1d", InstanceNorm1d(3));
    expect_case("instancenorm2d", InstanceNorm2d(3));
    expect_case("instancenorm3d", InstanceNorm3d(3, {.eps = 1e-3, .affine = false}));
    expect_case("rmsnorm", RMSNorm({8}));
}

TEST(PyTorchGolden, Pooling) {
    expect_case("maxpool1d",
                MaxPool1d({.kernel_size = 3, .stride = 2, .pad_mode = "pad", .padding = 1}));
    expect_case("maxpool3d", MaxPool3d({.kernel_size = 2, .stride = 2, .ceil_mode = true}));
    expect_case("avgpool1d",
                AvgPool1d({.kernel_size = 3, .stride = 2, .pad_mode = "pad", .padding = 1}, false));
    expect_case("avgpool3d", AvgPool3d({.kernel_size = {1, 2, 3}, .stride = {1, 2, 2}}, true, 5));
    expect_case("adaptive_maxpool2d", AdaptiveMaxPool2d({3, 2}));
    expect_case("adaptive_avgpool3d", AdaptiveAvgPool3d({2, 1, 3}));
}

TEST(PyTorchGolden, Others) {
    expect_case("upsample_nearest", Upsample({.scale_factor = 2}));
    expect_case("upsample_bilinear", Upsample({.size = {5, 7}, .mode = "bilinear"}));
    expect_case("upsample_corners", ResizeBilinear({.size = {5, 7}, .align_corners = true}));
    expect_case("glu", GLU(1));
    expect_case("prelu", PReLU(3));
}

}  // namespace
}  // namespace halyard
