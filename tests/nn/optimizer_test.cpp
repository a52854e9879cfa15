#include "nn/optimizer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numbers>

#include "registry/error.h"
#include "registry/npy.h"

using namespace halyard;
using namespace halyard::nn;

namespace {

using Make = std::function<Optimizer(const ParameterTuple &)>;
const std::vector<std::string> names = {"conv.weight", "fc.bias", "bn.gamma", "bn.beta"};

// Five steps of a golden run; the largest distance to MindSpore's parameters after any step.
double distance(const std::string &golden, const Make &make) {
    const std::map<std::string, Tensor> data = load_npz(std::string(HALYARD_SOURCE_DIR "/tests/goldens/opt_") + golden + ".npz");
    ParameterTuple params;
    for (const std::string &n : names) params.emplace_back(data.at("p0_" + n).copy(), n);
    const Optimizer optimizer = make(params);
    double worst = 0;
    for (int t = 0; t < 5; t++) {
        std::vector<Tensor> gradients;
        for (const Parameter &p : optimizer.parameters()) gradients.push_back(data.at("g" + std::to_string(t) + "_" + p.name()));
        optimizer(gradients);
        for (const Parameter &p : params) {
            const auto got = p.data().to_vector<double>(), want = data.at("p" + std::to_string(t + 1) + "_" + p.name()).to_vector<double>();
            for (size_t i = 0; i < got.size(); i++) worst = std::max(worst, std::abs(got[i] - want[i]));
        }
    }
    return worst;
}

constexpr double tolerance = 2e-6;  // float32 rounding of values up to 2 over five steps

}  // namespace

TEST(Optimizer, MomentumOfMindSpore) {
    const auto momentum = [](LearningRate lr, MomentumOptions o = {}) -> Make { return [lr, o](const ParameterTuple &p) { return Momentum(p, lr, 0.9, o); }; };
    EXPECT_LT(distance("momentum", momentum(0.1)), tolerance);
    EXPECT_LT(distance("momentum_wd", momentum(0.1, {.weight_decay = 0.05})), tolerance);
    EXPECT_LT(distance("momentum_loss_scale128", momentum(0.1, {.weight_decay = 0.05, .loss_scale = 128})), tolerance);
    EXPECT_LT(distance("momentum_lr_list", momentum(std::vector<double>{0.1, 0.05, 0.025, 0.0125, 0.01})), tolerance);
    const std::function<double(int64_t)> cosine = [](int64_t t) {
        return 0.01 + 0.5 * 0.09 * (1 + std::cos(std::numbers::pi * (double)std::min<int64_t>(t, 4) / 4));
    };
    EXPECT_LT(distance("momentum_cosine_schedule", momentum(cosine)), tolerance);
    EXPECT_GT(distance("momentum_wd", momentum(0.1)), 1e-3);  // the comparison can fail
}

TEST(Optimizer, GroupsOfMindSpore) {
    EXPECT_LT(distance("momentum_group_params_seed004",
                       [](const ParameterTuple &p) {
                           return Momentum(std::vector<ParamGroup>{{.params = {p[0]}, .weight_decay = 0.05}, {.params = {p[1], p[2], p[3]}}}, 0.1, 0.9);
                       }),
              tolerance);
    EXPECT_LT(distance("momentum_group_lr",
                       [](const ParameterTuple &p) {
                           return Momentum(std::vector<ParamGroup>{{.params = {p[0]}, .lr = 0.01, .weight_decay = 0.1}, {.params = {p[1], p[2], p[3]}}}, 0.1,
                                           0.9, {.weight_decay = 0.05});
                       }),
              tolerance);
}

TEST(Optimizer, SgdOfMindSpore) {
    const auto sgd = [](SGDOptions o) -> Make { return [o](const ParameterTuple &p) { return SGD(p, 0.1, o); }; };
    EXPECT_LT(distance("sgd", sgd({})), tolerance);
    EXPECT_LT(distance("sgd_mom", sgd({.momentum = 0.9})), tolerance);
    EXPECT_LT(distance("sgd_mom_damp", sgd({.momentum = 0.9, .dampening = 0.5})), tolerance);
    EXPECT_LT(distance("sgd_mom_nesterov", sgd({.momentum = 0.9, .nesterov = true})), tolerance);
    EXPECT_LT(distance("sgd_mom_wd", sgd({.momentum = 0.9, .weight_decay = 0.05})), tolerance);
}

TEST(Optimizer, AdamOfMindSpore) {
    EXPECT_LT(distance("adam", [](const ParameterTuple &p) { return Adam(p, 0.1); }), tolerance);
    EXPECT_LT(distance("adam_wd", [](const ParameterTuple &p) { return Adam(p, 0.1, {.weight_decay = 0.05}); }), tolerance);
}

// MindSpore's CPU kernel ignores use_nesterov (its golden equals the plain one), so this checks against the formula.
TEST(Optimizer, NesterovMomentum) {
    const Parameter p(Tensor::from<float>({1.0f}), "w");
    const Momentum m(ParameterTuple{p}, 0.1, 0.9, {.use_nesterov = true});
    double w = 1, v = 0;
    for (int t = 0; t < 3; t++) {
        const double g = 0.5 - 0.25 * t;
        m({Tensor::from<float>({(float)g})});
        v = 0.9 * v + g, w -= 0.1 * (g + 0.9 * v);
        EXPECT_NEAR(p.data().at({0}), w, 1e-6);
    }
}

TEST(Optimizer, CountsStepsAndClampsTheList) {
    const Parameter p(Tensor::ones({1}), "w");
    const Momentum m(ParameterTuple{p}, std::vector<double>{0.5, 0.25}, 0.0);
    EXPECT_EQ(m.learning_rate(), 0.5);
    for (int i = 0; i < 3; i++) m({Tensor::ones({1})});
    EXPECT_EQ(m.global_step(), 3);
    EXPECT_EQ(m.learning_rate(), 0.25);
    EXPECT_NEAR(p.data().at({0}), 1 - 0.5 - 0.25 - 0.25, 1e-6);
}

TEST(Optimizer, RefusesWhatCannotBe) {
    const Parameter p(Tensor::ones({2}), "w");
    const ParameterTuple one{p};
    EXPECT_THROW(Momentum(ParameterTuple{}, 0.1, 0.9), AttrError);
    EXPECT_THROW(Momentum(ParameterTuple{p, p}, 0.1, 0.9), AttrError);
    EXPECT_THROW(Momentum(one, 0.1, -1), AttrError);
    EXPECT_THROW(Momentum(one, std::vector<double>{}, 0.9), AttrError);
    EXPECT_THROW(Momentum(one, 0.1, 0.9, {.loss_scale = 0}), AttrError);
    EXPECT_THROW(Adam(one, 0.1, {.beta1 = 1}), AttrError);
    EXPECT_THROW(SGD(one, 0.1, {.nesterov = true}), AttrError);
    EXPECT_THROW(Momentum(one, -0.1, 0.9)({Tensor::ones({2})}), AttrError);
    EXPECT_THROW(Momentum(one, 0.1, 0.9)({}), ShapeError);
    EXPECT_THROW(Momentum(one, 0.1, 0.9)({Tensor::ones({3})}), ShapeError);
}
