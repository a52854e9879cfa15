// Layers and compositions against MindSpore's numbers: outputs, gradients in inputs and in parameters.
#include <functional>

#include "nn/activation.h"
#include "nn/basic.h"
#include "nn/conv.h"
#include "nn/dense.h"
#include "nn/loss.h"
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

TEST(Golden, Layers) {
    const nn::Conv2d conv(3, 4, 3, {.pad_mode = "same", .has_bias = true});
    expect_golden(
        "conv2d_bias_same_k3", [&](const In &x) { return conv(x[0]); }, conv.trainable_params());
    const nn::Dense dense(7, 5, {}, {}, true, nn::ReLU());
    expect_golden(
        "dense_relu_activation", [&](const In &x) { return dense(x[0]); }, dense.trainable_params());
    const nn::Flatten flatten;
    expect_golden("flatten", [&](const In &x) { return flatten(x[0]); });
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
