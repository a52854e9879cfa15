// Compares layers and compositions with MindSpore: outputs, gradients in inputs and in parameters.
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
#include "primitives/autograd/tape.h"
#include "primitives/composites/concat.h"
#include "primitives/ops/binary.h"
#include "primitives/ops/cast.h"
#include "primitives/ops/channels.h"
#include "primitives/ops/indexing.h"
#include "primitives/ops/norms.h"
#include "primitives/ops/reduce.h"
#include "primitives/ops/select.h"
#include "primitives/ops/shapes.h"
#include "primitives/ops/sorting.h"
#include "primitives/ops/unary.h"
#include "primitives/random.h"
#include "tests/kernels/golden.h"

namespace halyard {
namespace {

using In = std::vector<Tensor>;

// Compares y0, and the gradients of sum(dy0 * y) in the inputs x<k> whose gradients the file has.
void expect_golden(const std::string &file, const std::function<Tensor(const In &)> &f) {
    const auto g = golden(file);
    In in;
    for (int k = 0; g.count("x" + std::to_string(k)); k++)
        in.push_back(g.at("x" + std::to_string(k)));
    expect_close(f(in), g.at("y0"), 1e-5, file);
    if (!g.count("dy0")) return;
    In with_sens = in;
    with_sens.push_back(g.at("dy0"));
    const Gradients d = GradOperation{.get_all = true, .sens_param = true}(f)(with_sens);
    for (size_t k = 0; k < in.size(); k++) {
        if (g.count("dx" + std::to_string(k))) {
            expect_close(d.inputs[k], g.at("dx" + std::to_string(k)), 1e-5,
                         file + " dx" + std::to_string(k));
        }
    }
}

TEST(MindSporeGolden, Compositions) {
    expect_golden("bias_add", [](const In &x) { return F::bias_add(x[0], x[1]); });
    expect_golden("concat_ax1", [](const In &x) { return F::concat({x[0], x[1]}, 1); });
    expect_golden("transpose_0231", [](const In &x) { return F::transpose(x[0], {0, 2, 3, 1}); });
    expect_golden("gather_ax0", [](const In &x) { return F::gather(x[0], x[1]); });
    expect_golden("l2normalize", [](const In &x) { return F::l2_normalize(x[0], 1); });
    expect_golden("topk2", [](const In &x) { return F::top_k(x[0], 2)[0]; });
    expect_close(F::top_k(golden("topk2").at("x0"), 2)[1], golden("topk2").at("y1"), 0,
                 "topk2 indices");
}

// Returns the file's name of a parameter that has another name in a cell.
std::string in_file(const std::string &name) {
    static const std::map<std::string, std::string> other = {
        {"moving_mean", "mean"}, {"moving_variance", "variance"}, {"w", "a"}};
    const auto at = other.find(name);
    return at == other.end() ? name : at->second;
}

// Compares a layer's outputs, its gradients in x0 and in its parameters, and its parameters after
// one forward pass.
void expect_layer(const std::string &file, const nn::AnyCell &cell, bool train = false,
                  double tolerance = 1e-5) {
    const auto g = golden(file);
    const auto close = [&](const Tensor &got, const std::string &key) {
        expect_close(got, g.at(key), tolerance, file + " " + key);
    };
    for (const auto &[name, p] : cell.parameters_and_names())
        p.set_data(g.at("p_" + in_file(name)));
    cell.set_train(train);
    const Tensor x = g.at("x0");
    const ParameterTuple parameters = cell.trainable_params();
    Tape tape;
    if (is_float(x.dtype())) tape.watch(x);
    for (const Parameter &p : parameters)
        tape.watch(p);
    const Tensor y = cell(x);
    close(y, "y0");
    for (const auto &[name, p] : cell.parameters_and_names())
        close(p, (g.count("ap_" + in_file(name)) ? "ap_" : "p_") + in_file(name));
    std::vector<Tensor> in;
    std::vector<std::string> keys;
    if (is_float(x.dtype())) {
        in.push_back(x);
        keys.push_back("dx0");
    }
    for (const Parameter &p : parameters) {
        in.push_back(p);
        keys.push_back("dp_" + in_file(p.name()));
    }
    const std::vector<Tensor> d = tape.gradient(y, in, g.at("dy0"));
    for (size_t k = 0; k < d.size(); k++)
        close(d[k], keys[k]);
}

TEST(MindSporeGolden, Layers) {
    expect_layer("conv2d_bias_same_k3", nn::Conv2d(3, 4, 3, {.has_bias = true}));
    expect_layer("conv2d_depthwise_mult2_pad1",
                 nn::Conv2d(3, 6, 3, {.pad_mode = "pad", .padding = 1, .group = 3}));
    expect_layer("conv2d_pad_asym_k3s2",
                 nn::Conv2d(2, 3, 3, {.stride = 2, .pad_mode = "pad", .padding = {1, 2, 0, 3}}));
    expect_layer("conv2d_same_k3s2d2", nn::Conv2d(2, 3, 3, {.stride = 2, .dilation = 2}));
    expect_layer("conv2d_rect_k3x5_s2x1", nn::Conv2d(2, 3, {3, 5}, {.stride = {2, 1}}));
    expect_layer("conv1d_same_k3", nn::Conv1d(3, 4, 3));
    expect_layer("dense_3d", nn::Dense(7, 5));
    expect_layer("dense_nobias", nn::Dense(7, 5, {}, {}, false));
    expect_layer("dense_relu_activation", nn::Dense(7, 5, {}, {}, true, nn::ReLU()));
    expect_layer("conv2d_transpose_same_k3s2", nn::Conv2dTranspose(3, 4, 3, {.stride = 2}));
    expect_layer("conv2d_transpose_valid_k3s2",
                 nn::Conv2dTranspose(3, 4, 3, {.stride = 2, .pad_mode = "valid"}));
    expect_layer("conv2d_transpose_pad1_k3s2",
                 nn::Conv2dTranspose(3, 4, 3, {.stride = 2, .pad_mode = "pad", .padding = 1}));
    expect_layer("embedding", nn::Embedding(6, 4));
    expect_layer("flatten", nn::Flatten());
    expect_layer("pad_reflect", nn::Pad({{0, 0}, {0, 0}, {1, 2}, {2, 1}}, "REFLECT"));
}

TEST(MindSporeGolden, Pooling) {
    expect_layer("maxpool2d_rect", nn::MaxPool2d({.kernel_size = {2, 3}, .stride = {1, 2}}));
    expect_layer("maxpool2d_pad1_k3s2",
                 nn::MaxPool2d({.kernel_size = 3, .stride = 2, .pad_mode = "pad", .padding = 1}));
    expect_layer("maxpool2d_negative_same_k3s2",
                 nn::MaxPool2d({.kernel_size = 3, .stride = 2, .pad_mode = "same"}));
    expect_layer("avgpool2d_same_k3s2_odd",
                 nn::AvgPool2d({.kernel_size = 3, .stride = 2, .pad_mode = "same"}));
    expect_layer("avgpool2d_pad1_k3s2",
                 nn::AvgPool2d({.kernel_size = 3, .stride = 2, .pad_mode = "pad", .padding = 1}));
    expect_layer(
        "avgpool2d_pad1_k3s2_exclude",
        nn::AvgPool2d({.kernel_size = 3, .stride = 2, .pad_mode = "pad", .padding = 1}, false));
    expect_layer("adaptive_avgpool2d_1", nn::AdaptiveAvgPool2d(1));
    expect_layer("adaptive_avgpool2d_3x2", nn::AdaptiveAvgPool2d({3, 2}));
    expect_layer("reducemean_ax2_3_keep0", nn::GlobalAvgPool());
    expect_layer("reducemean_ax2_3_keep1", nn::GlobalAvgPool(true));
}

TEST(MindSporeGolden, Norms) {
    expect_layer("batchnorm2d_train_default", nn::BatchNorm2d(3), true);
    expect_layer("batchnorm2d_train_n1", nn::BatchNorm2d(3), true);
    expect_layer("batchnorm2d_train_eps1e-3_mom0.5",
                 nn::BatchNorm2d(3, {.eps = 1e-3, .momentum = 0.5}), true);
    expect_layer("batchnorm2d_train_noaffine", nn::BatchNorm2d(3, {.affine = false}), true);
    expect_layer("batchnorm2d_train_usestats_false",
                 nn::BatchNorm2d(3, {.use_batch_statistics = false}), true);
    expect_layer("batchnorm2d_eval_default", nn::BatchNorm2d(3));
    expect_layer("batchnorm2d_eval_eps1e-3_mom0.5",
                 nn::BatchNorm2d(3, {.eps = 1e-3, .momentum = 0.5}));
    expect_layer("batchnorm2d_eval_usestats_true",
                 nn::BatchNorm2d(3, {.use_batch_statistics = true}));
    expect_layer("batchnorm1d_train", nn::BatchNorm1d(4), true);
    expect_layer("batchnorm1d_eval", nn::BatchNorm1d(4));
    expect_layer("groupnorm_g2", nn::GroupNorm(2, 4));
    expect_layer("layernorm_last", nn::LayerNorm({10}));
    expect_layer("layernorm_eps1e-5", nn::LayerNorm({10}, {.epsilon = 1e-5}));
    expect_layer("layernorm_ax1_3d",
                 nn::LayerNorm({3, 6}, {.begin_norm_axis = 1, .begin_params_axis = 1}));
}

// Compares observations of MindSpore's Dropout: the share of elements kept, the value that 1
// becomes, and that evaluation changes nothing.
TEST(MindSporeGolden, Dropout) {
    set_seed(1);
    const auto g = golden("dropout");
    for (const char *p : {"0.0", "0.1", "0.5", "0.9"}) {
        const Tensor want = g.at(std::string("graph_p") + p);
        const Tensor x = Tensor::full({64, 64}, 3);
        const nn::Dropout layer(std::atof(p));
        EXPECT_EQ(layer(x).same_memory(x), want.at({2}) == 1);
        layer.set_train();
        Tape tape;
        tape.watch(x);
        const Tensor y = layer(x);
        const Tensor gradient = tape.gradient(y, {x})[0];
        EXPECT_EQ(F::mul(gradient, x).to_vector<float>(), y.to_vector<float>());
        EXPECT_NEAR(F::reduce_max(gradient).item(), want.at({4}), 1e-6) << p;
        EXPECT_NEAR(F::reduce_min(gradient).item(), want.at({3}), 1e-6) << p;
        EXPECT_NEAR(F::reduce_mean(F::cast(F::not_equal(y, 0), DType::f32)).item(), want.at({0}),
                    0.03)
            << p;
    }
}

// Tolerances are those of the same functions in tests/kernels/elementwise/elementwise_test.cpp,
// most of them MindSpore's own errors. `defect` is the |x| at which its result or derivative is
// wrong.
TEST(MindSporeGolden, Activations) {
    struct Line {
        const char *golden;
        nn::AnyCell cell;
        double tolerance, defect = -1;
    };
    const Line lines[] = {{"relu", nn::ReLU(), 0},
                          {"relu6", nn::ReLU6(), 0},
                          {"sigmoid", nn::Sigmoid(), 5e-7},
                          {"tanh", nn::Tanh(), 1e-4},
                          {"gelu_tanh", nn::GELU(), 5e-4},
                          {"gelu_erf", nn::GELU(false), 3e-7},
                          {"fast_gelu", nn::FastGelu(), 1e-4},
                          {"elu", nn::ELU(), 1e-4},
                          {"silu", nn::SiLU(), 1e-6},
                          {"mish", nn::Mish(), 4e-4, 90},
                          {"softplus", nn::Softplus(), 1e-6},
                          {"logsigmoid", nn::LogSigmoid(), 1e-6, 90},
                          {"softsign", nn::Softsign(), 1e-6},
                          {"hsigmoid", nn::HSigmoid(), 3e-7},
                          {"hswish", nn::HSwish(), 3e-7, 3},
                          {"leakyrelu", nn::LeakyReLU(), 2e-7, 0}};
    for (const Line &l : lines) {
        auto g = golden(std::string("act_") + l.golden);
        const Tensor x = g.at("x0");
        Tape tape;
        tape.watch(x);
        const Tensor y = l.cell(x);
        const auto without_defects = [&](const Tensor &t) {
            return F::select(F::equal(F::abs(x), l.defect), 0, t);
        };
        expect_close(without_defects(y), without_defects(g.at("y0")), l.tolerance,
                     std::string(l.golden) + " y");
        const Tensor dx = tape.gradient(y, {x}, g.at("dy0"))[0];
        expect_close(without_defects(dx), without_defects(g.at("dx0")), l.tolerance,
                     std::string(l.golden) + " dx");
    }
    expect_layer("act_prelu", nn::PReLU());
    expect_layer("softmax_ax1_4d", nn::Softmax2d());
    expect_layer("softmax_last", nn::Softmax());
    expect_layer("logsoftmax_last", nn::LogSoftmax());
}

TEST(MindSporeGolden, Losses) {
    const auto expect_loss = [](const std::string &file, const nn::AnyCell &loss) {
        expect_golden(file, [&](const In &x) { return loss(x[0], x[1]); });
    };
    expect_loss("mse_mean", nn::MSELoss());
    expect_loss("l1_mean", nn::L1Loss());
    expect_loss("smoothl1_none", nn::SmoothL1Loss());
    expect_loss("bce_logits_mean", nn::BCEWithLogitsLoss());
    expect_loss("cross_entropy_loss_ls0.1", nn::CrossEntropyLoss({.label_smoothing = 0.1}));
    for (const std::string kind : {"sparse", "dense"}) {
        for (const std::string reduction : {"none", "mean", "sum"}) {
            const nn::SoftmaxCrossEntropyWithLogits loss(kind == "sparse", reduction);
            expect_golden("sce_" + kind + "_" + reduction, [&](const In &x) {
                return loss(x[0], kind == "sparse" ? x[1].to(DType::i32) : x[1]);
            });
        }
    }
}

}  // namespace
}  // namespace halyard
