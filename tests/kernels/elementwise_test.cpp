// What the records of elementwise ops can't say: values at the edges of their domains, casts, integer division, and calls
// whose outputs lie over their inputs. Expected values are C++'s own functions in double.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "primitives/ops.h"
#include "primitives/tape.h"
#include "registry/npy.h"

namespace halyard {
namespace {

constexpr float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
const std::vector<float> specials = {0.f, -0.f, inf, -inf, nan, 1.f, -1.f, 0.5f, -0.5f, 2.5f, -2.5f, 3.f, -3.f, 6.f, 1e-40f, 3e38f};

template<class T> Tensor tensor(const std::vector<T> &v) {
    const Tensor t = Tensor::empty({(int64_t)v.size()}, dtype_for<T>::value);
    std::copy(v.begin(), v.end(), t.data<T>());
    return t;
}

void expect_same(double got, double want, const std::string &where) {
    if (std::isnan(want) || std::isinf(want)) EXPECT_TRUE(std::isnan(want) ? std::isnan(got) : got == want) << where << ": " << got << ", expected " << want;
    else EXPECT_NEAR(got, want, 2e-6 * std::fabs(want) + 1e-37) << where;
}

TEST(Elementwise, SpecialValuesOfOneTensor) {
    struct Line { const char *name; double (*expected)(double); };
    const Line lines[] = {
        {"abs", [](double x) { return std::fabs(x); }}, {"neg", [](double x) { return -x; }}, {"floor", [](double x) { return std::floor(x); }},
        {"ceil", [](double x) { return std::ceil(x); }}, {"round", [](double x) { return std::nearbyint(x); }}, {"trunc", [](double x) { return std::trunc(x); }},
        {"sqrt", [](double x) { return std::sqrt(x); }}, {"exp", [](double x) { return (double)(float)std::exp(x); }}, {"log", [](double x) { return std::log(x); }},
        {"sin", [](double x) { return std::sin(x); }}, {"tanh", [](double x) { return std::tanh(x); }}, {"atan", [](double x) { return std::atan(x); }},
        {"erf", [](double x) { return std::erf(x); }}, {"relu", [](double x) { return x < 0 ? 0 : x; }}, {"relu6", [](double x) { return x < 0 ? 0 : x > 6 ? 6 : x; }},
        {"sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }}, {"is_nan", [](double x) -> double { return std::isnan(x); }},
        {"is_inf", [](double x) -> double { return std::isinf(x); }}, {"is_finite", [](double x) -> double { return std::isfinite(x); }},
        {"logical_not", [](double x) -> double { return x == 0; }},
    };
    const Tensor x = tensor(specials);
    for (const Line &l : lines) {
        const auto got = Primitive(l.name).run({x})[0].to_vector<double>();
        for (size_t i = 0; i < specials.size(); i++) expect_same(got[i], l.expected(specials[i]), std::string(l.name) + " of " + std::to_string(specials[i]));
    }
    EXPECT_TRUE(std::signbit(F::neg(tensor<float>({0.f})).data<float>()[0]));
}

TEST(Elementwise, SpecialValuesOfTwoTensors) {
    struct Line { const char *name; double (*expected)(double, double); };
    const Line lines[] = {
        {"equal", [](double a, double b) -> double { return a == b; }}, {"not_equal", [](double a, double b) -> double { return a != b; }},
        {"less", [](double a, double b) -> double { return a < b; }}, {"less_equal", [](double a, double b) -> double { return a <= b; }},
        {"greater", [](double a, double b) -> double { return a > b; }}, {"greater_equal", [](double a, double b) -> double { return a >= b; }},
        {"logical_and", [](double a, double b) -> double { return a != 0 && b != 0; }}, {"logical_or", [](double a, double b) -> double { return a != 0 || b != 0; }},
        {"maximum", [](double a, double b) { return std::isnan(a) || a > b ? a : b; }}, {"minimum", [](double a, double b) { return std::isnan(a) || a < b ? a : b; }},
        {"add", [](double a, double b) { return (double)(float)(a + b); }}, {"mul", [](double a, double b) { return (double)(float)(a * b); }},
        {"div", [](double a, double b) { return (double)(float)(a / b); }}, {"pow", [](double a, double b) { return (double)(float)std::pow(a, b); }},
        {"atan2", [](double a, double b) { return std::atan2(a, b); }},
    };
    const int64_t n = (int64_t)specials.size();
    const Tensor a = tensor(specials).reshape({n, 1}), b = tensor(specials).reshape({1, n});
    for (const Line &l : lines) {
        const auto got = Primitive(l.name).run({a, b})[0].to_vector<double>();
        for (size_t i = 0; i < got.size(); i++) {
            const float x = specials[i / specials.size()], y = specials[i % specials.size()];
            expect_same(got[i], l.expected(x, y), std::string(l.name) + " of " + std::to_string(x) + ", " + std::to_string(y));
        }
    }
}

template<class T> void integer_division() {
    const T low = std::numeric_limits<T>::min(), minus = (T)-1;
    const std::vector<T> a = {7, (T)-7, 7, (T)-7, low, low, 5, 0, 6}, b = {3, 3, (T)-3, (T)-3, minus, 2, 0, 0, (T)-3};
    const auto q = F::floor_div(tensor(a), tensor(b)).template to_vector<T>(), r = F::floor_mod(tensor(a), tensor(b)).template to_vector<T>();
    for (size_t i = 0; i < a.size(); i++) {
        const double x = (double)a[i], y = (double)b[i];
        EXPECT_EQ(q[i], y == 0 ? 0 : y == -1 ? (T)(0 - (uint64_t)a[i]) : (T)std::floor(x / y)) << x << " over " << y;
        EXPECT_EQ(r[i], y == 0 ? 0 : (T)(x - std::floor(x / y) * y)) << x << " mod " << y;
    }
}
TEST(Elementwise, IntegerDivision) {
    integer_division<int32_t>();
    integer_division<int8_t>();
    const auto powers = F::tensor_pow(tensor<int32_t>({1, 2, 4, -3, -1, 2}), tensor<int32_t>({3, 3, 3, 3, -5, -1})).to_vector<int32_t>();
    EXPECT_EQ(powers, (std::vector<int32_t>{1, 8, 64, -27, -1, 0}));
}

TEST(Elementwise, CastsAtTheirEdges) {
    const Tensor x = tensor<float>({1.9f, -1.9f, nan, inf, -inf, 3e9f, -3e9f, 255.5f, 0.5f, -0.f});
    EXPECT_EQ(F::cast(x, DType::i32).to_vector<int32_t>(), (std::vector<int32_t>{1, -1, 0, INT32_MAX, INT32_MIN, INT32_MAX, INT32_MIN, 255, 0, 0}));
    EXPECT_EQ(F::cast(x, DType::u8).to_vector<uint8_t>(), (std::vector<uint8_t>{1, 0, 0, 255, 0, 255, 0, 255, 0, 0}));
    EXPECT_EQ(F::cast(x, DType::boolean).to_vector<double>(), (std::vector<double>{1, 1, 1, 1, 1, 1, 1, 1, 1, 0}));
    const std::vector<int64_t> wide = {INT64_MAX, INT64_MIN, (int64_t(1) << 53) + 1, -5};
    EXPECT_EQ(F::cast(tensor(wide), DType::i64).to_vector<int64_t>(), wide);
    EXPECT_EQ(F::cast(tensor<double>({1e300, -1e300, 9007199254740993.0, nan}), DType::i64).to_vector<int64_t>(), (std::vector<int64_t>{INT64_MAX, INT64_MIN, 9007199254740992, 0}));
    // Just above a tie of f16, but a tie once it is a float: rounding twice would go down.
    EXPECT_EQ(F::cast(tensor<double>({1 + 0x1p-11 + 0x1p-40}), DType::f16).to_vector<double>()[0], 1 + 0x1p-10);
    EXPECT_EQ(F::cast(tensor<int64_t>({(int64_t(1) << 40) + (int64_t(1) << 32) + 1}), DType::bf16).to_vector<double>()[0], 0x1p40 + 0x1p33);
}

TEST(Elementwise, CopiesOfViews) {
    for (int64_t m : {1, 15, 16, 33}) {
        Tensor x = Tensor::empty({m, 37, 3}, DType::f32);
        for (int64_t i = 0; i < x.elements(); i++) x.data<float>()[i] = (float)i;
        const Tensor view = x.transpose({1, 0, 2});
        EXPECT_EQ(F::copy(view).to_vector<float>(), view.to_vector<float>());
        EXPECT_TRUE(F::copy(view).dense());
    }
}

// Every parameter's file holds p0, g<t> and p<t+1>.
double trajectory(const std::string &name, const std::function<void(Tensor p, const Tensor &g, int step)> &update) {
    const auto golden = load_npz(std::string(HALYARD_SOURCE_DIR) + "/tests/goldens/opt_" + name + ".npz");
    Tensor p = golden.at("p0_conv.weight").copy();
    double worst = 0;
    for (int t = 0; t < 5; t++) {
        update(p, golden.at("g" + std::to_string(t) + "_conv.weight"), t + 1);
        const auto got = p.to_vector<double>(), want = golden.at("p" + std::to_string(t + 1) + "_conv.weight").to_vector<double>();
        for (size_t i = 0; i < got.size(); i++) worst = std::max(worst, std::fabs(got[i] - want[i]));
    }
    return worst;
}

TEST(Elementwise, UpdatesInPlaceFollowMindSpore) {
    Tensor v, m;
    auto state = [](Tensor &s, const Tensor &p, int step) { if (step == 1) s = Tensor::zeros(p.shape(), p.dtype()); };
    auto momentum = [&](double decay) {
        return [&, decay](const Tensor &p, const Tensor &g, int t) { state(v, p, t); F::momentum_(p, v, g, 0.1, 0.9, decay); };
    };
    EXPECT_LT(trajectory("momentum", momentum(0)), 1e-6);
    EXPECT_LT(trajectory("momentum_wd", momentum(0.05)), 1e-6);
    EXPECT_GT(trajectory("momentum_wd", momentum(0)), 1e-3);
    EXPECT_LT(trajectory("sgd_mom_damp", [&](const Tensor &p, const Tensor &g, int t) { state(v, p, t); F::sgd_(p, v, g, 0.1, 0.9, t == 1 ? 0 : 0.5); }), 1e-6);
    EXPECT_LT(trajectory("sgd_mom_nesterov", [&](const Tensor &p, const Tensor &g, int t) { state(v, p, t); F::sgd_(p, v, g, 0.1, 0.9, 0, 0, 1); }), 1e-6);
    EXPECT_LT(trajectory("adam", [&](const Tensor &p, const Tensor &g, int t) {
        state(v, p, t), state(m, p, t);
        F::adam_(p, m, v, g, 0.1 * std::sqrt(1 - std::pow(0.999, t)) / (1 - std::pow(0.9, t)), 0.9, 0.999, 1e-8);
    }), 1e-5);  // 1 - beta2 of a rounded beta2
}

TEST(Elementwise, ActivationsFollowMindSpore) {
    struct Line { const char *golden, *op; double tolerance; };
    // Tolerances are MindSpore's own errors; its slopes at kinks (hswish, leakyrelu) are not compared.
    const Line lines[] = {{"relu", "relu", 0}, {"relu6", "relu6", 0}, {"sigmoid", "sigmoid", 1e-5}, {"tanh", "tanh", 2e-4}, {"gelu_tanh", "gelu_tanh", 5e-4}, {"gelu_erf", "gelu", 1e-5},
                          {"gelu_prim", "gelu_tanh", 5e-4}, {"fast_gelu", "fast_gelu", 1e-4}, {"elu", "elu", 1e-4}, {"silu", "silu", 1e-4}, {"softplus", "softplus", 2e-5},
                          {"softsign", "softsign", 1e-6}, {"abs", "abs", 0}, {"square", "square", 1e-6}, {"sign", "sign", 0}, {"floor", "floor", 0}, {"round", "round", 0},
                          {"erf", "erf", 1e-5}, {"sqrt", "sqrt", 1e-5}, {"rsqrt", "rsqrt", 1e-4}, {"reciprocal", "reciprocal", 1e-4}, {"hsigmoid", "hard_sigmoid", 1e-6}};
    for (const Line &l : lines) {
        const auto golden = load_npz(std::string(HALYARD_SOURCE_DIR) + "/tests/goldens/act_" + l.golden + ".npz");
        Tape tape;
        const Tensor x = golden.at("x0");
        tape.watch(x);
        const Tensor y = Primitive(l.op).run({x})[0];
        auto compare = [&](const Tensor &a, const Tensor &b, const char *what) {
            const auto got = a.to_vector<double>(), want = b.to_vector<double>();
            for (size_t i = 0; i < got.size(); i++) EXPECT_NEAR(got[i], want[i], l.tolerance * std::max(1.0, std::fabs(want[i]))) << l.golden << " " << what << " at " << x.to_vector<double>()[i];
        };
        compare(y, golden.at("y0"), "y");
        compare(tape.gradient(y, {x}, golden.at("dy0"))[0], golden.at("dx0"), "dx");
    }
}

}  // namespace
}  // namespace halyard
