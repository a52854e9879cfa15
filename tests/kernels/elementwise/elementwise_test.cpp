// Tests of elementwise ops beyond their records: values at the edges of their domains, casts,
// integer division, and calls whose outputs overlap their inputs. Expected values come from C++'s
// functions in double.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "primitives/autograd/tape.h"
#include "primitives/library.h"
#include "primitives/ops/binary.h"
#include "primitives/ops/cast.h"
#include "primitives/ops/copy.h"
#include "primitives/ops/optimizer.h"
#include "primitives/ops/reduce.h"
#include "primitives/ops/select.h"
#include "primitives/ops/unary.h"
#include "registry/dispatch/dispatch.h"
#include "tests/kernels/golden.h"

namespace halyard {
namespace {

constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();
const std::vector<float> specials = {0.f,   -0.f, inf,   -inf, nan,  1.f, -1.f,   0.5f,
                                     -0.5f, 2.5f, -2.5f, 3.f,  -3.f, 6.f, 1e-40f, 3e38f};

template<class T> Tensor tensor(const std::vector<T> &v) {
    const Tensor t = Tensor::empty({int64_t(v.size())}, dtype_for<T>::value);
    std::copy(v.begin(), v.end(), t.data<T>());
    return t;
}

void expect_same(double got, double want, const std::string &where) {
    if (std::isnan(want) || std::isinf(want)) {
        EXPECT_TRUE(std::isnan(want) ? std::isnan(got) : got == want)
            << where << ": " << got << ", expected " << want;
    } else
        EXPECT_NEAR(got, want, 2e-6 * std::fabs(want) + 1e-37) << where;
}

TEST(Elementwise, SpecialValuesOfOneTensor) {
    struct Line {
        const char *name;
        double (*expected)(double);
    };
    const Line lines[] = {
        {"abs", [](double x) { return std::fabs(x); }},
        {"neg", [](double x) { return -x; }},
        {"floor", [](double x) { return std::floor(x); }},
        {"ceil", [](double x) { return std::ceil(x); }},
        {"round", [](double x) { return std::nearbyint(x); }},
        {"trunc", [](double x) { return std::trunc(x); }},
        {"sqrt", [](double x) { return std::sqrt(x); }},
        {"exp", [](double x) { return double(float(std::exp(x))); }},
        {"log", [](double x) { return std::log(x); }},
        {"sin", [](double x) { return std::sin(x); }},
        {"tanh", [](double x) { return std::tanh(x); }},
        {"atan", [](double x) { return std::atan(x); }},
        {"erf", [](double x) { return std::erf(x); }},
        {"relu", [](double x) { return x < 0 ? 0 : x; }},
        {"relu6", [](double x) { return x < 0   ? 0
                                        : x > 6 ? 6
                                                : x; }},
        {"sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }},
        {"is_nan", [](double x) -> double { return std::isnan(x); }},
        {"is_inf", [](double x) -> double { return std::isinf(x); }},
        {"is_finite", [](double x) -> double { return std::isfinite(x); }},
        {"logical_not", [](double x) -> double { return x == 0; }},
    };
    const Tensor x = tensor(specials);
    for (const Line &l : lines) {
        const auto got = Primitive(l.name).run({x})[0].to_vector<double>();
        for (size_t i = 0; i < specials.size(); i++) {
            expect_same(got[i], l.expected(specials[i]),
                        std::string(l.name) + " of " + std::to_string(specials[i]));
        }
    }
    EXPECT_TRUE(std::signbit(F::neg(tensor<float>({0.f})).data<float>()[0]));
}

TEST(Elementwise, SpecialValuesOfTwoTensors) {
    struct Line {
        const char *name;
        double (*expected)(double, double);
    };
    const Line lines[] = {
        {"equal", [](double a, double b) -> double { return a == b; }},
        {"not_equal", [](double a, double b) -> double { return a != b; }},
        {"less", [](double a, double b) -> double { return a < b; }},
        {"less_equal", [](double a, double b) -> double { return a <= b; }},
        {"greater", [](double a, double b) -> double { return a > b; }},
        {"greater_equal", [](double a, double b) -> double { return a >= b; }},
        {"logical_and", [](double a, double b) -> double { return a != 0 && b != 0; }},
        {"logical_or", [](double a, double b) -> double { return a != 0 || b != 0; }},
        {"maximum", [](double a, double b) { return std::isnan(a) || a > b ? a : b; }},
        {"minimum", [](double a, double b) { return std::isnan(a) || a < b ? a : b; }},
        {"add", [](double a, double b) { return double(float(a + b)); }},
        {"mul", [](double a, double b) { return double(float(a * b)); }},
        {"div", [](double a, double b) { return double(float(a / b)); }},
        {"pow", [](double a, double b) { return double(float(std::pow(a, b))); }},
        {"atan2", [](double a, double b) { return std::atan2(a, b); }},
    };
    const int64_t n = int64_t(specials.size());
    const Tensor a = tensor(specials).reshape({n, 1});
    const Tensor b = tensor(specials).reshape({1, n});
    for (const Line &l : lines) {
        const auto got = Primitive(l.name).run({a, b})[0].to_vector<double>();
        for (size_t i = 0; i < got.size(); i++) {
            const float x = specials[i / specials.size()];
            const float y = specials[i % specials.size()];
            expect_same(got[i], l.expected(x, y),
                        std::string(l.name) + " of " + std::to_string(x) + ", " +
                            std::to_string(y));
        }
    }
}

template<class T> void integer_division() {
    const T low = std::numeric_limits<T>::min();
    const T minus = (T)-1;
    const std::vector<T> a = {7, (T)-7, 7, (T)-7, low, low, 5, 0, 6};
    const std::vector<T> b = {3, 3, (T)-3, (T)-3, minus, 2, 0, 0, (T)-3};
    const auto q = F::floor_div(tensor(a), tensor(b)).template to_vector<T>();
    const auto r = F::floor_mod(tensor(a), tensor(b)).template to_vector<T>();
    for (size_t i = 0; i < a.size(); i++) {
        const double x = double(a[i]);
        const double y = double(b[i]);
        EXPECT_EQ(q[i], y == 0    ? 0
                        : y == -1 ? (T)(0 - uint64_t(a[i]))
                                  : (T)std::floor(x / y))
            << x << " over " << y;
        EXPECT_EQ(r[i], y == 0 ? 0 : (T)(x - std::floor(x / y) * y)) << x << " mod " << y;
    }
}
TEST(Elementwise, IntegerDivision) {
    integer_division<int32_t>();
    integer_division<int8_t>();
    const auto powers = F::tensor_pow(tensor<int32_t>({1, 2, 4, -3, -1, 2}),
                                      tensor<int32_t>({3, 3, 3, 3, -5, -1}))
                            .to_vector<int32_t>();
    EXPECT_EQ(powers, (std::vector<int32_t>{1, 8, 64, -27, -1, 0}));
}

TEST(Elementwise, CastsAtTheLimits) {
    const Tensor x = tensor<float>({1.9f, -1.9f, nan, inf, -inf, 3e9f, -3e9f, 255.5f, 0.5f, -0.f});
    EXPECT_EQ(
        F::cast(x, DType::i32).to_vector<int32_t>(),
        (std::vector<int32_t>{1, -1, 0, INT32_MAX, INT32_MIN, INT32_MAX, INT32_MIN, 255, 0, 0}));
    EXPECT_EQ(F::cast(x, DType::u8).to_vector<uint8_t>(),
              (std::vector<uint8_t>{1, 0, 0, 255, 0, 255, 0, 255, 0, 0}));
    EXPECT_EQ(F::cast(x, DType::boolean).to_vector<double>(),
              (std::vector<double>{1, 1, 1, 1, 1, 1, 1, 1, 1, 0}));
    const std::vector<int64_t> wide = {INT64_MAX, INT64_MIN, (int64_t(1) << 53) + 1, -5};
    EXPECT_EQ(F::cast(tensor(wide), DType::i64).to_vector<int64_t>(), wide);
    EXPECT_EQ(F::cast(tensor<double>({1e300, -1e300, 9007199254740993.0, nan}), DType::i64)
                  .to_vector<int64_t>(),
              (std::vector<int64_t>{INT64_MAX, INT64_MIN, 9007199254740992, 0}));
    // The value is just above a tie of f16, but a tie in f32: rounding twice would go down.
    EXPECT_EQ(F::cast(tensor<double>({1 + 0x1p-11 + 0x1p-40}), DType::f16).to_vector<double>()[0],
              1 + 0x1p-10);
    EXPECT_EQ(F::cast(tensor<int64_t>({(int64_t(1) << 40) + (int64_t(1) << 32) + 1}), DType::bf16)
                  .to_vector<double>()[0],
              0x1p40 + 0x1p33);
}

TEST(Elementwise, CopiesOfViews) {
    for (int64_t m : {1, 15, 16, 33}) {
        Tensor x = Tensor::empty({m, 37, 3}, DType::f32);
        for (int64_t i = 0; i < x.elements(); i++)
            x.data<float>()[i] = float(i);
        const Tensor view = x.transpose({1, 0, 2});
        EXPECT_EQ(F::copy(view).to_vector<float>(), view.to_vector<float>());
        EXPECT_TRUE(F::copy(view).dense());
    }
}

// Returns the largest distance to a golden trajectory; every parameter's file holds p0, g<t> and
// p<t+1>.
double trajectory(const std::string &name,
                  const std::function<void(Tensor p, const Tensor &g, int step)> &update) {
    const auto data = golden("opt_" + name);
    Tensor p = data.at("p0_conv.weight").copy();
    double worst = 0;
    for (int t = 0; t < 5; t++) {
        update(p, data.at("g" + std::to_string(t) + "_conv.weight"), t + 1);
        const auto got = p.to_vector<double>();
        const auto want = data.at("p" + std::to_string(t + 1) + "_conv.weight").to_vector<double>();
        for (size_t i = 0; i < got.size(); i++)
            worst = std::max(worst, std::fabs(got[i] - want[i]));
    }
    return worst;
}

TEST(Elementwise, UpdatesInPlaceMatchMindSpore) {
    Tensor v, m;
    auto state = [](Tensor &s, const Tensor &p, int step) {
        if (step == 1) s = Tensor::zeros(p.shape(), p.dtype());
    };
    auto momentum = [&](double decay) {
        return [&, decay](const Tensor &p, const Tensor &g, int t) {
            state(v, p, t);
            F::momentum_(p, v, g, 0.1, 0.9, decay);
        };
    };
    EXPECT_LT(trajectory("momentum", momentum(0)), 1e-6);
    EXPECT_LT(trajectory("momentum_wd", momentum(0.05)), 1e-6);
    EXPECT_GT(trajectory("momentum_wd", momentum(0)), 1e-3);
    EXPECT_LT(trajectory("sgd_mom_damp",
                         [&](const Tensor &p, const Tensor &g, int t) {
                             state(v, p, t);
                             F::sgd_(p, v, g, 0.1, 0.9, t == 1 ? 0 : 0.5);
                         }),
              1e-6);
    EXPECT_LT(trajectory("sgd_mom_nesterov",
                         [&](const Tensor &p, const Tensor &g, int t) {
                             state(v, p, t);
                             F::sgd_(p, v, g, 0.1, 0.9, 0, 0, 1);
                         }),
              1e-6);
    EXPECT_LT(trajectory("adam",
                         [&](const Tensor &p, const Tensor &g, int t) {
                             state(v, p, t);
                             state(m, p, t);
                             F::adam_(p, m, v, g,
                                      0.1 * std::sqrt(1 - std::pow(0.999, t)) /
                                          (1 - std::pow(0.9, t)),
                                      0.9, 0.999, 1e-8);
                         }),
              // 1 - beta2 is computed in double: with beta2 rounded to float, 1.3e-5 of it is lost.
              2e-6);
    // MindSpore's AdamWeightDecay does round its betas, and corrects no bias.
    auto decoupled = [&](double beta1, double beta2) {
        return [&, beta1, beta2](const Tensor &p, const Tensor &g, int t) {
            state(v, p, t);
            state(m, p, t);
            F::adam_weight_decay_(p, m, v, g, 0.1, beta1, beta2, 1e-6, 0.05);
        };
    };
    EXPECT_LT(trajectory("adamweightdecay", decoupled(0.9f, 0.999f)), 2e-6);
    // So the scalars weren't rounded.
    EXPECT_GT(trajectory("adamweightdecay", decoupled(0.9, 0.999)), 5e-6);
}

// Errors are relative to the larger of 1 and the golden value; infinities and NaN must be the same.
void expect_near(const Tensor &got, const Tensor &want, double tolerance, const std::string &what,
                 const std::vector<bool> &skip = {}) {
    ASSERT_EQ(got.shape().text(), want.shape().text()) << what;
    const auto a = got.to_vector<double>();
    const auto b = want.to_vector<double>();
    for (size_t i = 0; i < a.size(); i++) {
        if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i])) || (!skip.empty() && skip[i]))
            continue;
        EXPECT_NEAR(a[i], b[i], tolerance * std::max(1.0, std::fabs(b[i])))
            << what << "[" << i << "]";
    }
}

TEST(Elementwise, ActivationsMatchMindSpore) {
    // Tolerances of y and dx cover MindSpore's own distance to float64, which is most of each: its
    // exp is 5e-6 off, tanh 8e-5, and with them erf's dx 1.1e-6 (its y only 3e-8), mish's dx 3e-4.
    // `defect` is an |x| at which MindSpore is wrong: derivatives at a kink that belong to neither
    // side, and at 90 an infinity or NaN on the way to a finite value.
    struct Line {
        const char *golden, *op;
        double y, dx, defect = -1;
    };
    const Line lines[] = {{"relu", "relu", 0, 0},
                          {"relu6", "relu6", 0, 0},
                          {"sigmoid", "sigmoid", 5e-7, 5e-7},
                          {"tanh", "tanh", 1e-4, 1e-4},
                          {"gelu_tanh", "gelu_tanh", 5e-4, 5e-4},
                          {"gelu_erf", "gelu", 3e-7, 3e-7},
                          {"gelu_prim", "gelu_tanh", 5e-4, 5e-4},
                          {"fast_gelu", "fast_gelu", 1e-4, 1e-4},
                          {"elu", "elu", 1e-4, 1e-4},
                          {"silu", "silu", 1e-6, 1e-6},
                          {"mish", "mish", 1e-6, 4e-4, 90},
                          {"softplus", "softplus", 1e-6, 1e-6},
                          {"logsigmoid", "logsigmoid", 1e-6, 1e-6, 90},
                          {"softsign", "softsign", 1e-6, 1e-6},
                          {"abs", "abs", 0, 0},
                          {"neg", "neg", 0, 0},
                          {"square", "square", 1e-7, 1e-7},
                          {"sign", "sign", 0, 0},
                          {"floor", "floor", 0, 0},
                          {"round", "round", 0, 0},
                          {"erf", "erf", 2e-7, 2e-6},
                          {"exp", "exp", 1e-5, 1e-5},
                          {"log", "log", 5e-7, 2e-7},
                          {"sqrt", "sqrt", 2e-7, 2e-7},
                          {"rsqrt", "rsqrt", 3e-7, 4e-7},
                          {"reciprocal", "reciprocal", 2e-7, 3e-7},
                          {"hsigmoid", "hard_sigmoid", 3e-7, 3e-7},
                          {"hswish", "hard_swish", 3e-7, 3e-7, 3},
                          {"leakyrelu", "leaky_relu", 2e-7, 2e-7, 0}};
    for (const Line &l : lines) {
        const auto g = golden(std::string("act_") + l.golden);
        Tape tape;
        const Tensor x = g.at("x0");
        tape.watch(x);
        const Tensor y = Primitive(l.op).run({x})[0];
        const auto at = x.to_vector<double>();
        const auto y0 = g.at("y0").to_vector<double>();
        std::vector<bool> defect, no_number;
        for (size_t i = 0; i < at.size(); i++) {
            defect.push_back(std::fabs(at[i]) == l.defect);
            no_number.push_back(defect[i] && !std::isfinite(y0[i]));
        }
        expect_near(y, g.at("y0"), l.y, std::string(l.golden) + " y", no_number);
        expect_near(tape.gradient(y, {x}, g.at("dy0"))[0], g.at("dx0"), l.dx,
                    std::string(l.golden) + " dx", defect);
    }
}

TEST(Elementwise, BinaryFunctionsMatchMindSpore) {
    struct Line {
        const char *golden, *op;
        double y, d;
    };
    const Line lines[] = {
        {"add_bcast", "add", 0, 1e-6},           {"sub_bcast", "sub", 0, 1e-6},
        {"mul_bcast", "mul", 0, 1e-6},           {"div_bcast", "div", 2e-7, 1e-6},
        {"maximum_bcast", "maximum", 0, 1e-6},   {"minimum_bcast", "minimum", 0, 1e-6},
        {"maximum_ties", "maximum", 0, 0},       {"pow", "pow", 1e-6, 1e-5},
        {"floormod_negative", "floor_mod", 0, 0}};
    for (const Line &l : lines) {
        const auto g = golden(std::string("bin_") + l.golden);
        Tape tape;
        const Tensor a = g.at("x0"), b = g.at("x1");
        tape.watch(a);
        tape.watch(b);
        const Tensor y = Primitive(l.op).run({a, b})[0];
        expect_near(y, g.at("y0"), l.y, std::string(l.golden) + " y");
        if (!g.count("dy0")) continue;
        const auto d = tape.gradient(y, {a, b}, g.at("dy0"));
        expect_near(d[0], g.at("dx0"), l.d, std::string(l.golden) + " da");
        expect_near(d[1], g.at("dx1"), l.d, std::string(l.golden) + " db");
    }
    const auto g = golden("tensor_pow_seed001");
    Tape tape;
    const Tensor x = g.at("x0");
    tape.watch(x);
    const Tensor y = F::tensor_pow(x, tensor<float>({3.f}));
    expect_near(y, g.at("y0"), 0, "tensor_pow y");
    expect_near(tape.gradient(y, {x}, g.at("dy0"))[0], g.at("dx0"), 2e-7, "tensor_pow dx");
}

TEST(Elementwise, CastsAndClipsMatchMindSpore) {
    const auto whole = golden("cast_f32_i32"), half = golden("cast_f32_f16"),
               clip = golden("clip_by_value");
    EXPECT_EQ(F::cast(whole.at("x0"), DType::i32).to_vector<int32_t>(),
              whole.at("y0").to_vector<int32_t>());
    EXPECT_EQ(F::cast(half.at("x0"), DType::f16).to_vector<double>(),
              half.at("y0").to_vector<double>());
    Tape tape;
    const Tensor x = clip.at("x0");
    tape.watch(x);
    const Tensor y = F::clip_by_value(x, tensor<float>({-0.25f}), tensor<float>({0.5f}));
    expect_near(y, clip.at("y0"), 0, "clip_by_value y");
    expect_near(tape.gradient(y, {x}, clip.at("dy0"))[0], clip.at("dx0"), 0, "clip_by_value dx");
}

// NaN is at risk in Halide's own conversion code as much as in an instruction's.
TEST(Elementwise, KeepsNanInSixteenBits) {
    for (const KernelEntry &k : library().at("sqrt").kernels) {  // The kernels in the build.
        if (k.dtypes != "f16" || k.backend != "cpu" || k.isa > host_isa()) continue;
        const Force force(k.isa, "");
        for (DType t : {DType::f16, DType::bf16}) {
            const auto y = F::sqrt(F::cast(tensor<float>({nan, -1.f, inf, 4.f, 65520.f}), t))
                               .to_vector<double>();
            EXPECT_TRUE(std::isnan(y[0]) && std::isnan(y[1]))
                << name_of(k.isa) << " " << name_of(t);
            EXPECT_EQ(y[2], inf);
            EXPECT_EQ(y[3], 2);
        }
    }
}

// A conversion from f16 does not promise that there is no NaN.
TEST(Elementwise, DetectsNanInSixteenBits) {
    const Tensor x = tensor<float>({nan, inf, -inf, 1.f, nan, inf});
    for (DType t : {DType::f16, DType::bf16}) {
        const Tensor h = F::cast(x, t);
        const Tensor low = F::cast(tensor<float>({-2.f}), t);
        const Tensor high = F::cast(tensor<float>({2.f}), t);
        for (const Tensor &y :
             {F::sigmoid(h), F::erf(h), F::clip_by_value(h, low, high), F::maximum(h, low)}) {
            EXPECT_TRUE(std::isnan(y.at({0})) && std::isnan(y.at({4}))) << y.text();
            EXPECT_FALSE(std::isnan(y.at({1})) || std::isnan(y.at({2})) || std::isnan(y.at({3})))
                << y.text();
        }
        EXPECT_TRUE(std::isnan(F::reduce_max(h).item()) && std::isnan(F::reduce_min(h).item()))
            << name_of(t);
        EXPECT_EQ(F::is_inf(h).to_vector<double>(), (std::vector<double>{0, 1, 1, 0, 0, 1}))
            << name_of(t);
    }
}

// Each state of an update overwrites its own input, and nothing that is read later.
TEST(Elementwise, OutputsOverwriteOnlyTheirOwnInputs) {
    const RegisteredOp &op = library().at("momentum_");
    const Tensor p = Tensor::ones({5}), v = Tensor::ones({5}), g = Tensor::ones({5}),
                 other = Tensor::ones({5});
    const Tensor in[] = {p, v, g};
    const Attrs attrs(op.record);
    const auto expect_rejected = [&](const Tensor &p_out, const Tensor &v_out) {
        EXPECT_THROW(dispatch_into(op, in, attrs, std::vector<Tensor>{p_out, v_out}), ShapeError);
    };
    expect_rejected(v, p);
    expect_rejected(p, g);
    expect_rejected(other, other);
    dispatch_into(op, in, attrs, std::vector<Tensor>{p, v});
    EXPECT_FLOAT_EQ(float(v.at({4})), 1.9f);
    EXPECT_FLOAT_EQ(float(p.at({4})), 0.81f);
}

// a^2 + b^2 vanishes or overflows in float; the derivative doesn't.
TEST(Elementwise, DerivativesOfAtan2AtBothEndsOfTheRange) {
    const Tensor a = tensor<float>({1e-25f, 3e30f, inf, 0.f});
    const Tensor b = tensor<float>({1e-25f, 3e30f, 1.f, 2.f});
    Tape tape;
    tape.watch(a);
    tape.watch(b);
    const auto d = tape.gradient(F::atan2(a, b), {a, b}, tensor<float>({1e-20f, 1e20f, 1.f, 1.f}));
    const auto da = d[0].to_vector<double>();
    const auto db = d[1].to_vector<double>();
    const double da_expected[] = {5e4, 1e20 / 6e30, 0, 0.5};
    const double db_expected[] = {-5e4, -1e20 / 6e30, nan, 0};
    for (size_t i = 0; i < 4; i++) {
        expect_same(da[i], da_expected[i], "da[" + std::to_string(i) + "]");
        expect_same(db[i], db_expected[i], "db[" + std::to_string(i) + "]");
    }
}

// A quotient overflows in float where the other factor is 0.
TEST(Elementwise, DerivativeOfAQuotientWithoutANumerator) {
    const Tensor a = tensor<float>({0.f, -0.f, 1e4f, 1.f, 0.f, 0.f, 2.f, 0.f});
    const Tensor b = tensor<float>({1e-37f, -1e-37f, 1e-37f, 4.f, 0.f, inf, 4.f, nan});
    const Tensor dy = tensor<float>({1e4f, 1e4f, 0.f, 2.f, 1.f, 1.f, inf, 1.f});
    Tape tape;
    tape.watch(b);
    const auto db = tape.gradient(F::div(a, b), {b}, dy)[0].to_vector<double>();
    const double expected[] = {0, 0, 0, -0.125, nan, 0, -inf, nan};
    for (size_t i = 0; i < std::size(expected); i++)
        expect_same(db[i], expected[i], "db[" + std::to_string(i) + "]");
}

}  // namespace
}  // namespace halyard
