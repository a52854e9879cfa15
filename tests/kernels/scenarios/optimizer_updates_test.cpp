// Compares updates over five steps, and clipping by norm, with MindSpore and with the papers'
// formulas in double (tests/goldens/updates.py).
#include <functional>

#include "primitives/composites/clip.h"
#include "primitives/ops/clip.h"
#include "primitives/ops/optimizer.h"
#include "primitives/ops/optimizer_adaptive.h"
#include "primitives/ops/optimizer_layerwise.h"
#include "primitives/ops/statistics.h"
#include "registry/base/error.h"
#include "tests/kernels/golden.h"

using namespace halyard;

namespace {

using Step = std::function<void(const Tensor &p, const Tensor &g, int t)>;

// Returns the largest distance from the golden parameters after any step; `suffix` names the
// parameter in files that have several.
double distance(const std::string &name, const std::string &suffix, const Step &step) {
    const auto data = golden("opt_" + name);
    const Tensor p = data.at("p0" + suffix).copy();
    double worst = 0;
    for (int t = 0; t < 5; t++) {
        step(p, data.at("g" + std::to_string(t) + suffix), t + 1);
        const auto got = p.to_vector<double>();
        const auto want = data.at("p" + std::to_string(t + 1) + suffix).to_vector<double>();
        for (size_t i = 0; i < got.size(); i++)
            worst = std::max(worst, std::fabs(got[i] - want[i]));
    }
    return worst;
}

// A state that begins as `value` everywhere.
struct State {
    double value = 0;
    Tensor t = {};
    const Tensor &of(const Tensor &p, int step) {
        if (step == 1) t = Tensor::full(p.shape(), value, p.dtype());
        return t;
    }
};

const std::string of_mindspore = "_conv.weight";

}  // namespace

TEST(Updates, AdaptiveMatchMindSpore) {
    State sum{0.1}, mean, square{1}, moment, most;
    const Step adagrad = [&](const Tensor &p, const Tensor &g, int t) {
        F::adagrad_(p, sum.of(p, t), g, 0.1);
    };
    const Step rms = [&](const Tensor &p, const Tensor &g, int t) {
        F::rms_prop_(p, square.of(p, t), moment.of(p, t), g, 0.1, 0.9, 0.5);
    };
    const Step plain = [&](const Tensor &p, const Tensor &g, int t) {
        F::rms_prop_(p, square.of(p, t), moment.of(p, t), g, 0.1, 0.9, 0);
    };
    const Step centered = [&](const Tensor &p, const Tensor &g, int t) {
        F::centered_rms_prop_(p, mean.of(p, t), square.of(p, t), moment.of(p, t), g, 0.1, 0.9, 0.5);
    };
    const Step ada_max = [&](const Tensor &p, const Tensor &g, int t) {
        F::ada_max_(p, mean.of(p, t), most.of(p, t), g, 0.1 / (1 - std::pow(0.9, t)));
    };
    EXPECT_LT(distance("adagrad", of_mindspore, adagrad), 1e-6);
    EXPECT_LT(distance("rmsprop", of_mindspore, rms), 1e-6);
    EXPECT_LT(distance("rmsprop_centered", of_mindspore, centered), 1e-6);
    EXPECT_LT(distance("adamax", of_mindspore, ada_max), 1e-6);
    EXPECT_GT(distance("rmsprop", of_mindspore, plain), 1e-3);  // The comparison can fail.
}

TEST(Updates, LayerwiseMatchTheirPapers) {
    State m, v;
    const auto lamb = [&](double decay) -> Step {
        return [&, decay](const Tensor &p, const Tensor &g, int t) {
            F::lamb_(p, m.of(p, t), v.of(p, t), g, 0.1, 0.9, 0.999, 1e-6, decay, 1, t);
        };
    };
    const Step lars = [&](const Tensor &p, const Tensor &g, int t) {
        F::momentum_(p, v.of(p, t), F::lars_update(p, g, 0.02, 0.05), 0.1, 0.9);
    };
    const Step lion = [&](const Tensor &p, const Tensor &g, int t) {
        F::lion_(p, m.of(p, t), g, 0.01, 0.9, 0.99, 0.05);
    };
    EXPECT_LT(distance("lamb", "", lamb(0.05)), 1e-6);
    EXPECT_GT(distance("lamb", "", lamb(0)), 1e-4);
    EXPECT_LT(distance("lars", "", lars), 1e-6);
    EXPECT_LT(distance("lion", "", lion), 1e-6);
}

TEST(Updates, LayerwiseScalesAreOneForZeros) {
    const Tensor zero = Tensor::zeros({3});
    const Tensor g = Tensor::full({3}, 2);
    const Tensor p = zero.copy();
    F::lamb_(p, Tensor::zeros({3}), Tensor::zeros({3}), g, 0.1);
    EXPECT_NEAR(p.at({0}), -0.1, 1e-6);
    EXPECT_EQ(F::lars_update(zero, g, 0.001).at({1}), 2);
}

TEST(Updates, ClippingByNormMatchesMindSpore) {
    const auto data = golden("clip_norms");
    const Tensor x = data.at("x0");
    expect_close(F::clip_by_norm(x, 1), data.at("by_norm_two"), 1e-6, "2-norm");
    // MindSpore's 1-norm sums without taking absolute values.
    EXPECT_NEAR(F::norm(F::clip_by_norm(x, 2, 1), {}, false, 1).item(), 2, 1e-5);
    expect_close(F::clip_by_norm(x, 0.5, INFINITY), data.at("by_norm_inf"), 1e-6, "largest");
    EXPECT_EQ(F::clip_by_norm(x, 100).to_vector<float>(), x.to_vector<float>());
    // Of order 0 the norm is the number of elements that aren't 0.
    EXPECT_NEAR(F::clip_by_norm(Tensor::full({4}, 3), 1, 0).at({1}), 0.75, 1e-6);
    for (int limit : {1, 100}) {
        const auto y = F::clip_by_global_norm({data.at("x0"), data.at("x1"), data.at("x2")}, limit);
        for (size_t k = 0; k < y.size(); k++) {
            expect_close(y[k], data.at("global_" + std::to_string(limit) + "_" + std::to_string(k)),
                         1e-6, "global");
        }
    }
    // Its square overflows in f16.
    EXPECT_NEAR(F::clip_by_norm(Tensor::full({70000}, 1, DType::f16), 1).at({0}),
                1 / std::sqrt(70000.), 1e-5);
}

TEST(Updates, RejectsInvalidArguments) {
    const Tensor p = Tensor::ones({3}), q = Tensor::ones({4});
    EXPECT_THROW(F::lamb_(p, q, p, p), ShapeError);
    EXPECT_THROW(F::lamb_(p, p, p, p), ShapeError);  // Two states share memory.
    EXPECT_THROW(F::lamb_(p, p.copy(), p.copy(), p.copy(), 0.1, 0.9, 0.999, 1e-6, 0, 1, 0),
                 AttrError);
    EXPECT_THROW(F::clip_by_norm(p, 0), AttrError);
    try {
        F::clip_by_norm(p, 1, NAN);
        ADD_FAILURE() << "norm_type is nan";
    } catch (const AttrError &e) {
        EXPECT_STREQ(e.what(), "[clip_by_norm] norm_type is nan, expected a number");
    }
    EXPECT_THROW(F::clip_by_global_norm({}), ShapeError);
    EXPECT_THROW(F::clip_by_global_norm({Tensor::ones({3}, DType::i32)}), DTypeError);
}
