// Tests derivatives of elementwise functions: far from 0 in every dtype, at NaN, and at
// breakpoints.
#include <gtest/gtest.h>

#include <cmath>

#include "primitives/library.h"
#include "registry/dispatch/dispatch.h"

namespace halyard {
namespace {

using Long = long double;

double derivative(const RegisteredOp &op, double saved, DType t) {
    const Tensor x = Tensor::from(std::vector<double>{saved}, {1}).to(t);
    const Tensor dy = Tensor::from(std::vector<double>{1}, {1}).to(t);
    return dispatch(op, std::vector{x, dy}, Attrs(op.record))[0].to_vector<double>()[0];
}

Long sigmoid(Long x) {
    return 1 / (1 + std::exp(-x));
}
Long logistic_derivative(Long x, Long factor) {
    return sigmoid(factor * x) * (1 + factor * x * sigmoid(-factor * x));
}

struct Function {
    const char *name;
    Long (*derivative)(Long x);
};
const std::vector<Function> functions = {
    {"silu_dx", [](Long x) { return logistic_derivative(x, 1); }},
    {"fast_gelu_dx", [](Long x) { return logistic_derivative(x, 1.702L); }},
    {"gelu_dx",
     [](Long x) {
         return std::erfc(-x / std::sqrt(2.0L)) / 2 +
                x * std::exp(-x * x / 2) / std::sqrt(2 * 3.14159265358979323846L);
     }},
    {"gelu_tanh_dx",
     [](Long x) {
         const Long a = 1.5957691216057307L;
         const Long b = a * 0.044715L;
         return sigmoid(x * (a + b * x * x)) *
                (1 + x * (a + 3 * b * x * x) * sigmoid(-x * (a + b * x * x)));
     }},
    {"mish_dx",
     [](Long x) {
         const Long t = std::tanh(std::log1p(std::exp(-std::fabs(x))) + std::fmax(x, 0.0L));
         return t + x * sigmoid(x) * (1 - t) * (1 + t);
     }},
    {"erf_dx", [](Long x) { return 2 / std::sqrt(3.14159265358979323846L) * std::exp(-x * x); }},
};

// Returns the error that a derivative `want` at x may have in this dtype.
double allowed_error(DType t, double x, double want) {
    const double eps = t == DType::f64   ? 0x1p-52
                       : t == DType::f32 ? 0x1p-23
                       : t == DType::f16 ? 0x1p-10
                                         : 0x1p-7;
    const double least = t == DType::f64 ? 0x1p-1022 : t == DType::f16 ? 0x1p-14 : 0x1p-126;
    const double of_exponent = 4 * std::fmin(std::fabs(x) + std::pow(std::fabs(x), 3) / 10, 1000);
    const double arithmetic = (t == DType::f64 ? 0x1p-52 : 0x1p-23) * (64 + of_exponent);
    return (arithmetic + (t == DType::f64 || t == DType::f32 ? 0 : eps)) *
           std::fmax(std::fabs(want), least);
}

void expect_accurate(const Function &f, DType t, double x) {
    const double rounded = Tensor::from(std::vector<double>{x}, {1}).to(t).to_vector<double>()[0];
    if (!std::isfinite(rounded)) return;
    const auto want = double(f.derivative(rounded));
    EXPECT_LE(std::fabs(derivative(library().at(f.name), rounded, t) - want),
              allowed_error(t, rounded, want))
        << f.name << " of " << name_of(t) << " at " << rounded;
}

// A kernel clamps intermediate values only where the result has reached its limit. Elsewhere the
// derivative would be flat.
TEST(Derivatives, AreAccurateForAllMagnitudes) {
    for (const Function &f : functions) {
        for (DType t : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
            for (double size :
                 {1e-300, 0.01, 0.7,  3.,   10.,  20.,  26.,  29.5,  30.5, 34.,  37.,  50.,
                  87.,    100., 200., 430., 700., 740., 999., 1001., 3e4,  1e30, 1e300}) {
                expect_accurate(f, t, size);
                expect_accurate(f, t, -size);
            }
        }
    }
}

// Returns every gradient of a function of one tensor that has no attributes, with the op.
std::vector<std::pair<const RegisteredOp *, const RegisteredOp *>> gradients() {
    std::vector<std::pair<const RegisteredOp *, const RegisteredOp *>> all;
    for (const RegisteredOp *g : library().ops()) {
        const std::string &name = g->record.name;
        const bool fits = name.ends_with("_dx") && g->record.form == Form::elementwise &&
                          g->signature.inputs.size() == 2 && g->record.attrs.empty();
        const RegisteredOp *forward = fits ? library().find(name.substr(0, name.size() - 3))
                                           : nullptr;
        if (forward && forward->signature.inputs.size() == 1) all.emplace_back(forward, g);
    }
    return all;
}

double derivative_at(const RegisteredOp &forward, const RegisteredOp &gradient, double x) {
    double saved = x;
    if (gradient.signature.inputs[0].name == "y") {
        saved = dispatch(forward, std::vector{Tensor::from(std::vector<double>{x}, {1})},
                         Attrs(forward.record))[0]
                    .to_vector<double>()[0];
    }
    return derivative(gradient, saved, DType::f64);
}

TEST(Derivatives, AreNanOrZeroAtNan) {
    ASSERT_GT(gradients().size(), 30u);
    for (auto &[forward, gradient] : gradients()) {
        const double s = derivative_at(*forward, *gradient, NAN);
        EXPECT_TRUE(std::isnan(s) || s == 0) << gradient->record.name << " is " << s;
    }
}

TEST(Derivatives, AreBetweenThoseOfBothSidesAtKinks) {
    for (auto &[forward, gradient] : gradients()) {
        for (double x : {-6., -3., -1., -0.5, 0., 0.5, 1., 3., 6.}) {
            const double step = 1e-6;
            const double below = derivative_at(*forward, *gradient, x - step);
            const double above = derivative_at(*forward, *gradient, x + step);
            const double s = derivative_at(*forward, *gradient, x);
            const double room = 1e-3 * (std::fabs(below) + std::fabs(above)) + 1e-5;
            // This is a pole, or the end of its domain.
            if (!std::isfinite(s) || !std::isfinite(below + above)) continue;
            EXPECT_GE(s, std::fmin(below, above) - room) << gradient->record.name << " at " << x;
            EXPECT_LE(s, std::fmax(below, above) + room) << gradient->record.name << " at " << x;
        }
    }
}

// The last element is a factor of no exclusive product.
TEST(Derivatives, ExclusiveProductsIgnoreTheLastElement) {
    const RegisteredOp &op = library().at("cumprod_dx");
    const Tensor x = Tensor::from(std::vector<double>{3, 2, INFINITY}, {1, 3}).to(DType::f32);
    const Tensor dy = Tensor::from(std::vector<double>{5, 7, 11}, {1, 3}).to(DType::f32);
    const std::map<std::string, std::string> along_rows = {{"axis", "1"}, {"exclusive", "1"}};
    const Attrs attrs(op.record, along_rows);
    const Tensor dx = dispatch(op, std::vector{x, dy}, attrs)[0];
    // y = (1, 3, 3 * 2)
    EXPECT_EQ(dx.to_vector<double>(), (std::vector<double>{7 + 11 * 2, 11 * 3, 0}));
}

}  // namespace
}  // namespace halyard
