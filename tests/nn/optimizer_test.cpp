#include "nn/optimizer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <functional>
#include <set>

#include "nn/optimizer_adaptive.h"
#include "registry/base/error.h"
#include "registry/tensor/npy.h"

using namespace halyard;
using namespace halyard::nn;

namespace {

using Make = std::function<Optimizer(const ParameterTuple &)>;

// Runs five steps of a golden and returns the largest distance to its parameters after any step.
// MindSpore's files have four parameters, those of updates.py one without a name.
double distance(const std::string &golden, const Make &make) {
    const std::map<std::string, Tensor> data = load_npz(
        std::string(HALYARD_SOURCE_DIR "/tests/goldens/opt_") + golden + ".npz");
    ParameterTuple params;
    for (const char *n : {"conv.weight", "fc.bias", "bn.gamma", "bn.beta", ""}) {
        if (const auto at = data.find(*n ? std::string("p0_") + n : "p0"); at != data.end())
            params.emplace_back(at->second.copy(), n);
    }
    const Optimizer optimizer = make(params);
    const auto key = [](const char *what, int t, const Parameter &p) {
        return what + std::to_string(t) + (p.name().empty() ? "" : "_" + p.name());
    };
    double worst = 0;
    for (int t = 0; t < 5; t++) {
        std::vector<Tensor> gradients;
        for (const Parameter &p : optimizer.parameters())
            gradients.push_back(data.at(key("g", t, p)));
        optimizer(gradients);
        for (const Parameter &p : params) {
            const auto got = p.data().to_vector<double>();
            const auto want = data.at(key("p", t + 1, p)).to_vector<double>();
            for (size_t i = 0; i < got.size(); i++)
                worst = std::max(worst, std::abs(got[i] - want[i]));
        }
    }
    return worst;
}

template<class O, class Options> Make made(LearningRate lr, Options options) {
    return [=](const ParameterTuple &p) { return O(p, lr, options); };
}
Make momentum(LearningRate lr, MomentumOptions options = {}) {
    return [=](const ParameterTuple &p) { return Momentum(p, lr, 0.9, options); };
}
// Returns the parameters without conv.weight, which comes first.
ParameterTuple rest(const ParameterTuple &p) {
    return {p.begin() + 1, p.end()};
}

struct Case {
    const char *golden;
    Make make;
    double tolerance = 2e-6;  // The f32 rounding of values up to 2 over five steps.
};

std::vector<Case> cases() {
    const LearningRate lr = 0.1;
    return {
        {"momentum", momentum(lr)},
        {"momentum_wd", momentum(lr, {.weight_decay = 0.05})},
        // MindSpore's CPU kernel ignores use_nesterov: its goldens are those of plain momentum.
        // NesterovMomentum below tests ours.
        {"momentum_nesterov", momentum(lr)},
        {"momentum_wd_nesterov", momentum(lr, {.weight_decay = 0.05})},
        {"momentum_loss_scale128", momentum(lr, {.weight_decay = 0.05, .loss_scale = 128})},
        {"momentum_lr_list", momentum(std::vector<double>{0.1, 0.05, 0.025, 0.0125, 0.01})},
        {"momentum_cosine_schedule", momentum(CosineDecayLR(0.01, 0.1, 4))},
        {"momentum_group_params_seed004",
         [](const ParameterTuple &p) {
             return Momentum(std::vector<ParamGroup>{{.params = {p[0]}, .weight_decay = 0.05},
                                                     {.params = rest(p)},
                                                     {.order_params = p}},
                             0.1, 0.9);
         }},
        {"momentum_group_lr",
         [](const ParameterTuple &p) {
             const std::vector<ParamGroup> groups{
                 {.params = rest(p)},
                 {.params = {p[0]}, .lr = 0.01, .weight_decay = 0.1},
                 {.order_params = p}};
             return Momentum(groups, 0.1, 0.9, {.weight_decay = 0.05});
         }},
        {"sgd", made<SGD>(lr, SGDOptions())},
        {"sgd_mom", made<SGD>(lr, SGDOptions{.momentum = 0.9})},
        {"sgd_mom_damp", made<SGD>(lr, SGDOptions{.momentum = 0.9, .dampening = 0.5})},
        {"sgd_mom_nesterov", made<SGD>(lr, SGDOptions{.momentum = 0.9, .nesterov = true})},
        {"sgd_mom_wd", made<SGD>(lr, SGDOptions{.momentum = 0.9, .weight_decay = 0.05})},
        {"adam", made<Adam>(lr, AdamOptions())},
        {"adam_wd", made<Adam>(lr, AdamOptions{.weight_decay = 0.05})},
        // The formula in double is 2.13e-6 away.
        {"adam_nesterov", made<Adam>(lr, AdamOptions{.use_nesterov = true}), 2.5e-6},
        {"adam_amsgrad", made<Adam>(lr, AdamOptions{.use_amsgrad = true})},
        {"adam_locking", made<Adam>(lr, AdamOptions())},  // use_locking
        // AdamOffload is Adam computed on the host.
        {"thor_adam_offload", made<Adam>(lr, AdamOptions())},
        {"adamweightdecay",
         made<AdamWeightDecay>(lr, AdamWeightDecayOptions{.weight_decay = 0.05})},
        {"adamax", made<AdaMax>(lr, AdaMaxOptions())},
        {"lamb", made<Lamb>(lr, LambOptions{.weight_decay = 0.05})},
        {"lion", made<Lion>(0.01, LionOptions{.weight_decay = 0.05})},
        {"lars",
         [](const ParameterTuple &p) {
             return LARS(Momentum(p, 0.1, 0.9, {.weight_decay = 0.05}), {.coefficient = 0.02});
         }},
        {"adagrad", made<Adagrad>(lr, AdagradOptions())},
        {"proximal_adagrad", made<ProximalAdagrad>(lr, ProximalAdagradOptions())},
        {"adadelta", made<Adadelta>(1.0, AdadeltaOptions())},
        {"rmsprop", made<RMSProp>(lr, RMSPropOptions{.momentum = 0.5})},
        {"rmsprop_centered", made<RMSProp>(lr, RMSPropOptions{.momentum = 0.5, .centered = true})},
        {"ftrl", made<FTRL>(lr, FTRLOptions())},
        {"asgd", made<ASGD>(lr, ASGDOptions())},
        {"rprop", made<Rprop>(lr, RpropOptions())},
    };
}

}  // namespace

TEST(Optimizer, MatchesMindSpore) {
    std::set<std::string> covered;
    for (const Case &c : cases()) {
        covered.insert(std::string("opt_") + c.golden + ".npz");
        EXPECT_LT(distance(c.golden, c.make), c.tolerance) << c.golden;
    }
    for (const auto &file :
         std::filesystem::directory_iterator(HALYARD_SOURCE_DIR "/tests/goldens")) {
        if (const std::string name = file.path().filename(); name.starts_with("opt_")) {
            EXPECT_TRUE(covered.count(name)) << name << " is used by no case";
        }
    }
    EXPECT_GT(distance("momentum_wd", momentum(0.1)), 1e-3);  // The comparison can fail.
}

// MindSpore's CPU kernel ignores use_nesterov, so this checks against the formula.
TEST(Optimizer, NesterovMomentum) {
    const Parameter p(Tensor::from<float>({1.0f}), "w");
    const Momentum m(ParameterTuple{p}, 0.1, 0.9, {.use_nesterov = true});
    double w = 1, v = 0;
    for (int t = 0; t < 3; t++) {
        const double g = 0.5 - 0.25 * t;
        m({Tensor::from<float>({float(g)})});
        v = 0.9 * v + g;
        w -= 0.1 * (g + 0.9 * v);
        EXPECT_NEAR(p.data().at({0}), w, 1e-6);
    }
}

// Compares ten steps of an optimiser on one number with `step`, which changes {p, g, t} by the
// paper's formula.
template<class Step>
void expect_formula(const Optimizer &optimizer, const Parameter &p, const Step &step) {
    double expected = p.data().item();
    for (int t = 1; t <= 10; t++) {
        const double g = 0.7 - 0.15 * t;
        optimizer({Tensor::full(p.data().shape(), g, DType::f64)});
        step(expected, g, double(t));
        EXPECT_NEAR(p.data().item(), expected, 1e-12) << "step " << t;
    }
}

TEST(Optimizer, AdamWDecouplesDecayAndCorrectsTheBias) {
    for (bool amsgrad : {false, true}) {
        const Parameter p(Tensor::full({}, 1.5, DType::f64), "w");
        double m = 0;
        double v = 0;
        double most = 0;
        const AdamW optimizer(
            ParameterTuple{p}, 0.1,
            {.beta1 = 0.8, .beta2 = 0.9, .weight_decay = 0.3, .amsgrad = amsgrad});
        expect_formula(optimizer, p, [&](double &w, double g, double t) {
            w *= 1 - 0.1 * 0.3;
            m = 0.8 * m + 0.2 * g;
            v = 0.9 * v + 0.1 * g * g;
            most = std::fmax(most, v);
            const double size = amsgrad ? most : v;
            w -= 0.1 * (m / (1 - std::pow(0.8, t))) /
                 (std::sqrt(size / (1 - std::pow(0.9, t))) + 1e-8);
        });
    }
}

TEST(Optimizer, NAdamMatchesItsPaper) {
    const Parameter p(Tensor::full({}, 1.5, DType::f64), "w");
    double m = 0;
    double v = 0;
    double product = 1;
    const NAdam optimizer(ParameterTuple{p}, 0.1,
                          {.beta1 = 0.8, .beta2 = 0.9, .weight_decay = 0.3, .momentum_decay = 0.5});
    EXPECT_EQ(optimizer.parameters_dict().count("mu_product.w"), 1u) << "resumed as it was";
    expect_formula(optimizer, p, [&](double &w, double g, double t) {
        g += 0.3 * w;
        const double mu = 0.8 * (1 - 0.5 * std::pow(0.96, 0.5 * t));
        const double next = 0.8 * (1 - 0.5 * std::pow(0.96, 0.5 * (t + 1)));
        product *= mu;
        m = 0.8 * m + 0.2 * g;
        v = 0.9 * v + 0.1 * g * g;
        const double size = std::sqrt(v / (1 - std::pow(0.9, t))) + 1e-8;
        w -= 0.1 * (1 - mu) / (1 - product) * g / size;
        w -= 0.1 * next / (1 - product * next) * m / size;
    });
}

TEST(Optimizer, RAdamMatchesItsPaper) {
    const Parameter p(Tensor::full({}, 1.5, DType::f64), "w");
    double m = 0;
    double v = 0;
    int rectified = 0;
    const RAdam optimizer(ParameterTuple{p}, 0.1,
                          {.beta1 = 0.8, .beta2 = 0.95, .weight_decay = 0.3});
    expect_formula(optimizer, p, [&](double &w, double g, double t) {
        g += 0.3 * w;
        m = 0.8 * m + 0.2 * g;
        v = 0.95 * v + 0.05 * g * g;
        const double power = std::pow(0.95, t);
        const double longest = 2 / (1 - 0.95) - 1;
        const double length = longest - 2 * t * power / (1 - power);
        double step = 0.1 * m / (1 - std::pow(0.8, t));
        if (length > 5) {
            rectified++;
            step *= std::sqrt((length - 4) * (length - 2) * longest /
                              ((longest - 4) * (longest - 2) * length));
            step *= std::sqrt(1 - power) / (std::sqrt(v) + 1e-8);
        }
        w -= step;
    });
    EXPECT_GT(rectified, 2);
    EXPECT_LT(rectified, 8);
}

TEST(Optimizer, CountsStepsAndClampsTheList) {
    const Parameter p(Tensor::ones({1}), "w");
    const Momentum m(ParameterTuple{p}, std::vector<double>{0.5, 0.25}, 0.0);
    EXPECT_EQ(m.learning_rate(), 0.5);
    for (int i = 0; i < 3; i++)
        m({Tensor::ones({1})});
    EXPECT_EQ(m.global_step(), 3);
    EXPECT_EQ(m.learning_rate(), 0.25);
    EXPECT_NEAR(p.data().at({0}), 1 - 0.5 - 0.25 - 0.25, 1e-6);
}

TEST(Optimizer, RejectsInvalidArguments) {
    const Parameter p(Tensor::ones({2}), "w");
    const ParameterTuple one{p};
    EXPECT_THROW(Momentum(ParameterTuple{}, 0.1, 0.9), AttrError);
    EXPECT_THROW(Momentum(ParameterTuple{p, p}, 0.1, 0.9), AttrError);
    EXPECT_THROW(Momentum(one, 0.1, -1), AttrError);
    EXPECT_THROW(Momentum(one, std::vector<double>{}, 0.9), AttrError);
    EXPECT_THROW(Momentum(one, 0.1, 0.9, {.loss_scale = 0}), AttrError);
    EXPECT_THROW(Adam(one, 0.1, {.beta1 = 1}), AttrError);
    EXPECT_THROW(SGD(one, 0.1, {.nesterov = true}), AttrError);
    EXPECT_THROW(Adam(one, 0.1, {.use_nesterov = true, .use_amsgrad = true}), AttrError);
    EXPECT_THROW(AdamWeightDecay(one, 0.1, {.eps = 0}), AttrError);
    EXPECT_THROW(AdamW(one, 0.1, {.beta2 = 1}), AttrError);
    EXPECT_THROW(NAdam(one, 0.1, {.momentum_decay = -1}), AttrError);
    EXPECT_THROW(RAdam(one, 0.1, {.eps = 0}), AttrError);
    EXPECT_THROW(Rprop(one, 0.1, {.etas = {0.5, 0.9}}), AttrError);
    EXPECT_THROW(FTRL(one, 0.1, {.lr_power = 1}), AttrError);
    EXPECT_THROW(LARS(SGD(one), {.coefficient = 0}), AttrError);
    EXPECT_THROW(Momentum(std::vector<ParamGroup>{{.params = one}, {.order_params = {}}}, 0.1, 0.9),
                 AttrError);
    EXPECT_THROW(
        Momentum(std::vector<ParamGroup>{{.params = one}, {.order_params = {p, p}}}, 0.1, 0.9),
        AttrError);
    EXPECT_THROW(Momentum(std::vector<ParamGroup>{{.params = one, .order_params = one}}, 0.1, 0.9),
                 AttrError);
    EXPECT_THROW(Momentum(one, -0.1, 0.9)({Tensor::ones({2})}), AttrError);
    EXPECT_THROW(Momentum(one, 0.1, 0.9)({}), ShapeError);
    EXPECT_THROW(Momentum(one, 0.1, 0.9)({Tensor::ones({3})}), ShapeError);
}

// The state has MindSpore's names, and a second optimiser that gets it continues with the same
// bits.
TEST(Optimizer, StateIsParameters) {
    const auto names_of = [](const Optimizer &o) {
        std::string all;
        for (const Parameter &p : o.get_parameters())
            all += p.name() + " ";
        return all;
    };
    const Parameter w(Tensor::ones({2, 2}), "conv.weight");
    const Parameter b(Tensor::ones({2}), "conv.bias");
    const ParameterTuple both{w, b};
    EXPECT_EQ(names_of(Momentum(both, 0.1, 0.9)),
              "global_step learning_rate moments.conv.weight moments.conv.bias ");
    EXPECT_EQ(names_of(Adam(ParameterTuple{w}, std::vector<double>{0.1, 0.2})),
              "global_step moment1.conv.weight moment2.conv.weight ");
    EXPECT_EQ(names_of(LARS(SGD(ParameterTuple{w}, 0.1))),
              "global_step learning_rate accum.conv.weight ");
    EXPECT_EQ(
        names_of(Momentum(std::vector<ParamGroup>{{.params = {w}}, {.params = {b}, .lr = 0.2}},
                          CosineDecayLR(0.1, 1, 5), 0.9)),
        "global_step learning_rate_group_1 moments.conv.weight moments.conv.bias ");

    for (const Case &c : cases()) {
        const auto step = [](const Optimizer &o, int t) {
            std::vector<Tensor> gradients;
            for (const Parameter &p : o.parameters())
                gradients.push_back(Tensor::full(p.shape(), 0.3 + 0.1 * t));
            o(gradients);
        };
        ParameterTuple params[2];
        for (ParameterTuple &own : params) {
            for (const char *name : {"conv.weight", "fc.bias", "bn.gamma", "bn.beta"})
                own.emplace_back(Tensor::full({2, 3}, 0.5), name);
        }
        const Optimizer whole = c.make(params[0]);
        const Optimizer second = c.make(params[1]);
        step(whole, 0);
        step(whole, 1);
        for (size_t i = 0; i < 4; i++)
            params[1][i].set_data(params[0][i]);
        const auto state = whole.parameters_dict();
        for (const Parameter &p : second.get_parameters())
            p.set_data(state.at(p.name()));
        step(whole, 2);
        step(second, 2);
        for (size_t i = 0; i < 4; i++) {
            EXPECT_EQ(params[1][i].data().to_vector<float>(),
                      params[0][i].data().to_vector<float>())
                << c.golden;
        }
    }
}

TEST(Optimizer, ConstantRatesCanBeSet) {
    const Parameter w(Tensor::ones({1}), "w");
    const Parameter b(Tensor::ones({1}), "b");
    const SGD o(std::vector<ParamGroup>{{.params = {w}}, {.params = {b}, .lr = 0.5}}, 0.1);
    o.set_learning_rate(0.25);
    EXPECT_EQ(o.learning_rate(0), 0.25);
    EXPECT_EQ(o.learning_rate(1), 0.5);
    o({Tensor::ones({1}), Tensor::ones({1})});
    EXPECT_EQ(w.data().item(), 0.75);
    EXPECT_EQ(b.data().item(), 0.5);
    EXPECT_THROW(o.set_learning_rate(-1), AttrError);
    EXPECT_THROW(SGD(ParameterTuple{w}, std::vector<double>{0.1}).set_learning_rate(0.1),
                 AttrError);
}

// A group's rate may be a list or a schedule of its own.
TEST(Optimizer, GroupsHaveTheirOwnSchedules) {
    const Parameter w(Tensor::zeros({1}), "w");
    const Parameter b(Tensor::zeros({1}), "b");
    const SGD o(std::vector<ParamGroup>{{.params = {w}, .lr = std::vector<double>{1, 2}},
                                        {.params = {b}, .lr = WarmUpLR(1, 4)},
                                        {.order_params = {b, w}}});
    EXPECT_TRUE(o.parameters()[0].same(b));
    for (int i = 0; i < 3; i++)
        o({Tensor::ones({1}), Tensor::ones({1})});
    EXPECT_EQ(w.data().item(), -5);
    EXPECT_EQ(b.data().item(), -0.75);
}

TEST(Optimizer, CentralizedGradientsHaveNoMean) {
    const Tensor g = Tensor::from<float>({1, 2, 6, 5, 5, 5}).reshape({2, 3});
    const Parameter w(Tensor::zeros({2, 3}), "w");
    const Parameter b(Tensor::zeros({3}), "b");
    const SGD o(std::vector<ParamGroup>{{.params = {w, b}, .grad_centralization = true}}, 1);
    o({g, Tensor::ones({3})});
    EXPECT_EQ(w.data().to_vector<float>(), (std::vector<float>{2, 1, -3, 0, 0, 0}));
    EXPECT_EQ(b.data().to_vector<float>(), (std::vector<float>{-1, -1, -1}));
}

// Parameters that the filter excludes keep their gradient and lose their decay, as in MindSpore.
TEST(Optimizer, LarsSkipsFilteredParameters) {
    const Parameter w(Tensor::ones({2}), "w");
    const Parameter b(Tensor::ones({2}), "bias");
    LARS(SGD(ParameterTuple{w, b}, 1, {.weight_decay = 0.5, .loss_scale = 2}), {.coefficient = 0.1})
    ({Tensor::full({2}, 2), Tensor::full({2}, 2)});
    EXPECT_NEAR(w.data().at({0}), 1 - 0.1 * std::sqrt(2) / (1.5 * std::sqrt(2) + 1e-5) * 1.5, 1e-6);
    EXPECT_EQ(b.data().at({0}), 0);
}

// The values are powers of two, so the mean of four gradients is exact, and so is every step.
TEST(Optimizer, AccumulatorUpdatesByTheMean) {
    const Parameter w(Tensor::zeros({2}), "w");
    const Parameter same(Tensor::zeros({2}), "w");
    const Accumulator o(
        Momentum(ParameterTuple{w}, std::vector<double>{1, 0.5}, 0.5, {.loss_scale = 2}), 4);
    const Momentum whole(ParameterTuple{same}, std::vector<double>{1, 0.5}, 0.5, {.loss_scale = 2});
    for (int round = 0; round < 2; round++) {
        for (int k = 0; k < 4; k++) {
            EXPECT_EQ(w.data().to_vector<float>(), same.data().to_vector<float>());
            EXPECT_EQ(o.global_step(), round);
            o({Tensor::full({2}, k + round)});
        }
        whole({Tensor::full({2}, 1.5 + round)});
    }
    EXPECT_EQ(w.data().to_vector<float>(), same.data().to_vector<float>());
    EXPECT_EQ(o.parameters_dict().count("accumulate.w") +
                  o.parameters_dict().count("accumulate_counter"),
              2u);
    EXPECT_THROW(Accumulator(whole, 0), AttrError);
}
