// Layers and compositions against MindSpore's numbers: outputs, gradients in inputs and in parameters.
#include <functional>

#include "nn/activation.h"
#include "nn/basic.h"
#include "nn/conv.h"
#include "nn/dense.h"
#include "nn/embedding.h"
#include "nn/loss.h"
#include "nn/norm.h"
#include "nn/padding.h"
#include "nn/pooling.h"
#include "primitives/concat.h"
#include "primitives/ops.h"
#include "primitives/tape.h"
#include "tests/kernels/golden.h"

namespace halyard {
namespace {

using In = std::vector<Tensor>;

// y0, and the gradients of sum(dy0 * y) in the inputs x<k> and the parameters p_<name> whose gradients the file has.
void expect_golden(const std::string &file, const std::function<Tensor(const In &)> &f, const ParameterTuple &parameters = {}) {
    const auto g = golden(file);
    for (const Parameter &p : parameters) p.set_data(g.at("p_" + p.name()));
    In in;
    for (int k = 0; g.count("x" + std::to_string(k)); k++) in.push_back(g.at("x" + std::to_string(k)));
    expect_close(f(in), g.at("y0"), 1e-5, file);
    In with_sens = in;
    with_sens.push_back(g.at("dy0"));
    const Gradients d = GradOperation{.get_all = true, .get_by_list = !parameters.empty(), .sens_param = true}(f, parameters)(with_sens);
    for (size_t k = 0; k < in.size(); k++)
        if (g.count("dx" + std::to_string(k))) expect_close(d.inputs[k], g.at("dx" + std::to_string(k)), 1e-5, file + " dx" + std::to_string(k));
    for (size_t k = 0; k < parameters.size(); k++) expect_close(d.parameters[k], g.at("dp_" + parameters[k].name()), 1e-5, file + " d" + parameters[k].name());
}

TEST(Golden, Compositions) {
    expect_golden("bias_add", [](const In &x) { return F::bias_add(x[0], x[1]); });
    expect_golden("concat_ax1", [](const In &x) { return F::concat({x[0], x[1]}, 1); });
    expect_golden("transpose_0231", [](const In &x) { return F::transpose(x[0], {0, 2, 3, 1}); });
}

// What the files call parameters that have other names in a cell.
std::string in_file(const std::string &name) {
    static const std::map<std::string, std::string> other = {{"moving_mean", "mean"}, {"moving_variance", "variance"}, {"w", "a"}};
    const auto at = other.find(name);
    return at == other.end() ? name : at->second;
}

// A layer's outputs, its gradients in x0 and in its parameters, and its parameters after one forward pass.
void expect_layer(const std::string &file, const nn::AnyCell &cell, bool train = false, double tolerance = 1e-5) {
    const auto g = golden(file);
    const auto close = [&](const Tensor &got, const std::string &key) { expect_close(got, g.at(key), tolerance, file + " " + key); };
    for (const auto &[name, p] : cell.parameters_and_names()) p.set_data(g.at("p_" + in_file(name)));
    cell.set_train(train);
    const Tensor x = g.at("x0");
    const ParameterTuple parameters = cell.trainable_params();
    Tape tape;
    if (is_float(x.dtype())) tape.watch(x);
    for (const Parameter &p : parameters) tape.watch(p);
    const Tensor y = cell(x);
    close(y, "y0");
    for (const auto &[name, p] : cell.parameters_and_names()) close(p, (g.count("ap_" + in_file(name)) ? "ap_" : "p_") + in_file(name));
    std::vector<Tensor> in;
    std::vector<std::string> keys;
    if (is_float(x.dtype())) in.push_back(x), keys.push_back("dx0");
    for (const Parameter &p : parameters) in.push_back(p), keys.push_back("dp_" + in_file(p.name()));
    const std::vector<Tensor> d = tape.gradient(y, in, g.at("dy0"));
    for (size_t k = 0; k < d.size(); k++) close(d[k], keys[k]);
}

TEST(Golden, Layers) {
    expect_layer("conv2d_bias_same_k3", nn::Conv2d(3, 4, 3, {.has_bias = true}));
    expect_layer("conv2d_depthwise_mult2_pad1", nn::Conv2d(3, 6, 3, {.pad_mode = "pad", .padding = 1, .group = 3}));
    expect_layer("conv2d_pad_asym_k3s2", nn::Conv2d(2, 3, 3, {.stride = 2, .pad_mode = "pad", .padding = {1, 2, 0, 3}}));
    expect_layer("conv2d_same_k3s2d2", nn::Conv2d(2, 3, 3, {.stride = 2, .dilation = 2}));
    expect_layer("conv2d_rect_k3x5_s2x1", nn::Conv2d(2, 3, {3, 5}, {.stride = {2, 1}}));
    expect_layer("conv1d_same_k3", nn::Conv1d(3, 4, 3));
    expect_layer("dense_3d", nn::Dense(7, 5));
    expect_layer("dense_nobias", nn::Dense(7, 5, {}, {}, false));
    expect_layer("dense_relu_activation", nn::Dense(7, 5, {}, {}, true, nn::ReLU()));
    expect_layer("embedding", nn::Embedding(6, 4));
    expect_layer("flatten", nn::Flatten());
    expect_layer("pad_reflect", nn::Pad({{0, 0}, {0, 0}, {1, 2}, {2, 1}}, "REFLECT"));
}

TEST(Golden, Pooling) {
    expect_layer("maxpool2d_rect", nn::MaxPool2d({.kernel_size = {2, 3}, .stride = {1, 2}}));
    expect_layer("maxpool2d_pad1_k3s2", nn::MaxPool2d({.kernel_size = 3, .stride = 2, .pad_mode = "pad", .padding = 1}));
    expect_layer("maxpool2d_negative_same_k3s2", nn::MaxPool2d({.kernel_size = 3, .stride = 2, .pad_mode = "same"}));
    expect_layer("avgpool2d_same_k3s2_odd", nn::AvgPool2d({.kernel_size = 3, .stride = 2, .pad_mode = "same"}));
    expect_layer("avgpool2d_pad1_k3s2", nn::AvgPool2d({.kernel_size = 3, .stride = 2, .pad_mode = "pad", .padding = 1}));
    expect_layer("avgpool2d_pad1_k3s2_exclude", nn::AvgPool2d({.kernel_size = 3, .stride = 2, .pad_mode = "pad", .padding = 1}, false));
    expect_layer("adaptive_avgpool2d_1", nn::AdaptiveAvgPool2d(1));
    expect_layer("adaptive_avgpool2d_3x2", nn::AdaptiveAvgPool2d({3, 2}));
    expect_layer("reducemean_ax2_3_keep0", nn::GlobalAvgPool());
    expect_layer("reducemean_ax2_3_keep1", nn::GlobalAvgPool(true));
}

TEST(Golden, Norms) {
    expect_layer("batchnorm2d_train_default", nn::BatchNorm2d(3), true);
    expect_layer("batchnorm2d_train_n1", nn::BatchNorm2d(3), true);
    expect_layer("batchnorm2d_train_eps1e-3_mom0.5", nn::BatchNorm2d(3, {.eps = 1e-3, .momentum = 0.5}), true);
    expect_layer("batchnorm2d_train_noaffine", nn::BatchNorm2d(3, {.affine = false}), true);
    expect_layer("batchnorm2d_train_usestats_false", nn::BatchNorm2d(3, {.use_batch_statistics = false}), true);
    expect_layer("batchnorm2d_eval_default", nn::BatchNorm2d(3));
    expect_layer("batchnorm2d_eval_eps1e-3_mom0.5", nn::BatchNorm2d(3, {.eps = 1e-3, .momentum = 0.5}));
    expect_layer("batchnorm2d_eval_usestats_true", nn::BatchNorm2d(3, {.use_batch_statistics = true}));
    expect_layer("batchnorm1d_train", nn::BatchNorm1d(4), true);
    expect_layer("batchnorm1d_eval", nn::BatchNorm1d(4));
    expect_layer("layernorm_last", nn::LayerNorm({10}));
    expect_layer("layernorm_eps1e-5", nn::LayerNorm({10}, {.epsilon = 1e-5}));
    expect_layer("layernorm_ax1_3d", nn::LayerNorm({3, 6}, {.begin_norm_axis = 1, .begin_params_axis = 1}));
}

TEST(Golden, Losses) {
    for (const std::string kind : {"sparse", "dense"})
        for (const std::string reduction : {"none", "mean", "sum"}) {
            const nn::SoftmaxCrossEntropyWithLogits loss(kind == "sparse", reduction);
            expect_golden("sce_" + kind + "_" + reduction, [&](const In &x) { return loss(x[0], kind == "sparse" ? x[1].to(DType::i32) : x[1]); });
        }
}

}  // namespace
}  // namespace halyard
