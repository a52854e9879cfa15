// Elementwise functions of one tensor: a table for each group of functions. A row has the function,
// its reference and its gradient; elementwise.h describes the fields. `ulps` is what
// tests/dsl/math/math_test.cpp asserts. The gradient of a step function (floor, sign, ...) is 0,
// which takes no kernel.
#include "dsl/dtypes.h"
#include "kernels/elementwise/elementwise.h"

namespace halyard {
namespace {

const std::vector<std::string> numbers = {"f32", "f16", "bf16", "f64", "i64", "i32", "i8", "u8"};
const std::vector<std::string> signed_numbers = {"f32", "f16", "bf16", "f64", "i64", "i32", "i8"};

Expr sign(Expr x) {
    return select(x > 0_r, 1_r, select(x < 0_r, math::negative(1_r), x));
}
double sign(double x) {
    return x > 0 ? 1 : x < 0 ? -1 : x;
}
Expr clip(const Expr &x, double low, double high) {
    return min(max(x, math::number(low)), math::number(high));
}
double clip(double x, double low, double high) {
    return x < low ? low : x > high ? high : x;
}
double sigmoid(double x) {
    return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
}
double softplus(double x) {
    return std::isnan(x) ? x : std::fmax(x, 0) + std::log1p(std::exp(-std::fabs(x)));
}
// Returns y = x f(v), v = v(x), or its limit 0 at -infinity, where y is NaN. v is computed in long
// double: in the left tail a rounding of v is |v| or v^2 roundings of y.
double with_limit(double x, double y) {
    return x == -INFINITY ? -0.0 : y;
}
double mish(double x) {
    return with_limit(x, x * std::tanh(softplus(x)));
}

// Derivatives of x f(x), which are f(x) + x f'(x). At infinity the second term would be infinity
// times 0. So kernels clamp x to +-1000, beyond which the derivative is 0 or 1 in every dtype.
// References don't share that bound. They are computed in long double, in which no intermediate
// result overflows, and return the limits at infinity.
Expr clamped(const Expr &x) {
    return clip(x, -1000, 1000);
}
using Long = long double;
template<class F> double derivative_at(double x, const F &derivative) {
    if (std::isinf(x)) return x > 0 ? 1 : 0;
    return double(derivative(Long(x)));
}
Long long_sigmoid(Long x) {
    return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
}
Long long_gaussian(Long x) {
    return std::exp(x * x * -0.5L);
}

Expr gelu_derivative(const Expr &x) {
    const Expr h = clamped(x);
    return math::number(0.5) * math::erfc(math::number(-M_SQRT1_2) * h) +
           h * math::call("gaussian", {h}) * math::number(0.39894228040143267794);
}
// With `abs_sum`, returns the sum of the absolute values of the terms, which cancel at the
// function's minimum. So do the others below.
double gelu_derivative(double x, bool abs_sum = false) {
    return derivative_at(x, [&](Long h) {
        return 0.5L * std::erfc(-h / std::sqrt(2.0L)) +
               (abs_sum ? std::fabs(h) : h) * long_gaussian(h) * 0.39894228040143267794L;
    });
}

// Returns the derivative of x / (1 + e^-z), z = factor x.
Expr logistic_derivative(const Expr &x, double factor) {
    const Expr h = clamped(x);
    const Expr z = h * math::number(factor);
    // The factored form sigmoid(z) (1 + z sigmoid(-z)) is inaccurate: if sigmoid(z) is subnormal,
    // its rounding error times z is many ulps of the result.
    return math::sigmoid(z) + math::silu(z) * math::sigmoid(math::negative(z));
}
double logistic_derivative(double x, double factor) {
    return derivative_at(x, [&](Long h) {
        return long_sigmoid(h * factor) * (1 + h * factor * long_sigmoid(-h * factor));
    });
}
// Returns the sum of the absolute values of the terms, times the roundings they contain: z is
// rounded, so e^z has an error of |z| roundings. From z = 64 on e^-z is negligible.
Long logistic_abs_sum(Long z, Long second) {
    const Long rounding = z < 64 ? 1 + std::fabs(z) : 1;
    return long_sigmoid(z) * (1 + std::fabs(second) * long_sigmoid(-z)) * rounding;
}
// Returns dy / (1 + x^2). For a large x, whose square would overflow, it divides by x twice.
Expr atan_gradient(const Expr &x, const Expr &dy) {
    const Expr far = abs(x) > math::number(0x1p60);
    return dy / select(far, x, 1_r + x * x) / select(far, x, 1_r);
}
// Returns dy factor / x, for a factor from 1/4 on. It divides first: a small dy times the factor
// may be subnormal, which x as small makes a usual number again. Where x is tiny and dy is not, it
// divides dy / 4, because dy / x may overflow where the result does not.
Expr log_gradient(const Expr &x, const Expr &dy, double factor) {
    const Expr tiny = math::number(0x1p-100);
    const Expr may_overflow = abs(x) < tiny && abs(dy) > tiny;
    const Expr quotient = strict_float(select(may_overflow, dy * 0.25_r, dy) / x);
    return strict_float(quotient *
                        select(may_overflow, math::number(4 * factor), math::number(factor)));
}
// The constants of Klambauer, Unterthiner, Mayr, Hochreiter: "Self-normalizing neural networks",
// NeurIPS 2017.
constexpr double selu_scale = 1.0507009873554804934193349852946,
                 selu_alpha = 1.6732632423543772848170429916717;
// gelu_tanh(x) = x sigmoid(tanh_a x + tanh_b x^3), where tanh_a = 2 sqrt(2/pi).
constexpr double tanh_a = 1.5957691216057308;
constexpr double tanh_b = tanh_a * 0.044715;
Long gelu_tanh_argument(Long x) {
    return 2 * std::sqrt(2 / 3.141592653589793238462643383279502884L) * (x + 0.044715L * x * x * x);
}
Expr gelu_tanh_derivative(const Expr &x) {
    const Expr h = clamped(x);
    const Expr a = math::number(tanh_a);
    const Expr b = math::number(tanh_b) * h * h;
    const Expr z = h * (a + b);
    return math::sigmoid(z) +
           (a + 3_r * b) / (a + b) * math::silu(z) * math::sigmoid(math::negative(z));
}
double gelu_tanh_derivative(double x, bool abs_sum = false) {
    return derivative_at(x, [&](Long h) {
        const Long z = gelu_tanh_argument(h);
        const Long dz = tanh_a + 3 * tanh_b * h * h;
        return abs_sum ? logistic_abs_sum(z, h * dz)
                       : long_sigmoid(z) * (1 + h * dz * long_sigmoid(-z));
    });
}
Expr mish_derivative(const Expr &x) {
    const Expr h = clamped(x);
    const Expr t = tanh(math::softplus(h));
    return t + math::silu(h) * (1_r - t) * (1_r + t);
}
double mish_derivative(double x, bool abs_sum = false) {
    return derivative_at(x, [&](Long h) {
        const Long t = std::tanh(std::fmax(h, 0.0L) + std::log1p(std::exp(-std::fabs(h))));
        return t + (abs_sum ? std::fabs(h) : h) * long_sigmoid(h) * (1 - t) * (1 + t);
    });
}

const UnarySpec rounding[] = {
    {.name = "abs",
     .doc = "y = |x|",
     .ulps = 0,
     .fn = [](Expr x) { return abs(x); },
     .reference = [](double x) { return std::fabs(x); },
     .saves = "x",
     .gradient = [](Expr x, Expr dy) { return dy * sign(x); },
     .gradient_reference = [](double x, double dy) { return dy * sign(x); },
     .gradient_ulps = 0,
     .other_names = {"absolute"},
     .dtypes = signed_numbers},
    {.name = "neg",
     .doc = "y = -x",
     .ulps = 0,
     .fn = [](Expr x) { return math::negative(x); },
     .reference = [](double x) { return -x; },
     .saves = "",
     .gradient = [](Expr, Expr dy) { return math::negative(dy); },
     .gradient_reference = [](double, double dy) { return -dy; },
     .gradient_ulps = 0,
     .other_names = {"negative"},
     .dtypes = signed_numbers},
    {.name = "sign",
     .doc = "y = 1 where x > 0, -1 where x < 0, else x",
     .ulps = 0,
     .fn = sign,
     .reference = sign,
     .other_names = {"sgn"},
     .dtypes = signed_numbers},
    {.name = "floor",
     .doc = "y = x rounded down",
     .ulps = 0,
     .fn = [](Expr x) { return floor(x); },
     .reference = [](double x) { return std::floor(x); },
     .dtypes = numbers},
    {.name = "ceil",
     .doc = "y = x rounded up",
     .ulps = 0,
     .fn = [](Expr x) { return ceil(x); },
     .reference = [](double x) { return std::ceil(x); },
     .dtypes = numbers},
    {.name = "round",
     .doc = "y = x rounded to the nearest integer, halves to the even one",
     .ulps = 0,
     .fn = [](Expr x) { return math::call("round", {x}); },
     .reference = [](double x) { return std::nearbyint(x); },
     .other_names = {"rint"},
     .dtypes = numbers},
    {.name = "trunc",
     .doc = "y = x rounded toward 0",
     .ulps = 0,
     .fn = [](Expr x) { return math::call("trunc", {x}); },
     .reference = [](double x) { return std::trunc(x); },
     .dtypes = numbers},
};

// Functions of integers only.
const UnarySpec bits[] = {
    {.name = "bitwise_not",
     .doc = "y = the bits not set in x",
     .ulps = 0,
     .fn = [](Expr x) { return math::call("bitwise_not", {x}); },
     .reference = nullptr,
     .other_names = {"bitwise_invert"},
     .dtypes = {"i64", "i32", "i8", "u8"},
     .integer_reference = [](int64_t x) { return ~x; }},
};

const UnarySpec powers[] = {
    {.name = "square",
     .doc = "y = x^2",
     .ulps = 0.5,
     .fn = [](Expr x) { return x * x; },
     .reference = [](double x) { return x * x; },
     .saves = "x",
     .gradient = [](Expr x, Expr dy) { return 2_r * x * dy; },
     .gradient_reference = [](double x, double dy) { return 2 * x * dy; },
     .gradient_ulps = 1,
     .dtypes = numbers},
    {.name = "sqrt",
     .doc = "y = x^(1/2)",
     .ulps = 1,
     .fn = [](Expr x) { return sqrt(x); },
     .reference = [](double x) { return std::sqrt(x); },
     .saves = "y",
     .gradient = [](Expr y, Expr dy) { return 0.5_r * dy / y; },
     .gradient_reference = [](double y, double dy) { return 0.5 * dy / y; }},
    {.name = "rsqrt",
     .doc = "y = x^(-1/2)",
     .ulps = 1,
     .fn = [](Expr x) { return math::rsqrt(x); },
     .reference = [](double x) { return 1 / std::sqrt(x); },
     .saves = "y",
     // Strict, because the order of the products would be another one in the last elements of a
     // row.
     .gradient = [](Expr y, Expr dy) { return strict_float(math::number(-0.5) * dy * y * y * y); },
     .gradient_reference = [](double y, double dy) { return -0.5 * dy * y * y * y; }},
    {.name = "reciprocal",
     .doc = "y = 1 / x",
     .ulps = 1,
     .fn = [](Expr x) { return math::reciprocal(x); },
     .reference = [](double x) { return 1 / x; },
     .saves = "y",
     .gradient = [](Expr y, Expr dy) { return strict_float(math::negative(dy) * y * y); },
     .gradient_reference = [](double y, double dy) { return -dy * y * y; },
     .other_names = {"inv"}},
    {.name = "exp",
     .doc = "y = e^x",
     .ulps = 1,
     .fn = [](Expr x) { return exp(x); },
     .reference = [](double x) { return std::exp(x); },
     .saves = "y",
     .gradient = [](Expr y, Expr dy) { return dy * y; },
     .gradient_reference = [](double y, double dy) { return dy * y; },
     .gradient_ulps = 0.5},
    {.name = "exp2",
     .doc = "y = 2^x",
     .ulps = 2,
     .fn = [](Expr x) { return math::exp2(x); },
     .reference = [](double x) { return std::exp2(x); },
     .saves = "y",
     .gradient = [](Expr y, Expr dy) { return dy * y * math::number(M_LN2); },
     .gradient_reference = [](double y, double dy) { return dy * y * M_LN2; }},
    {.name = "expm1",
     .doc = "y = e^x - 1, accurate near 0",
     .ulps = 2,
     .fn = [](Expr x) { return math::expm1(x); },
     .reference = [](double x) { return std::expm1(x); },
     .saves = "x",
     .gradient = [](Expr x, Expr dy) { return dy * exp(x); },
     .gradient_reference = [](double x, double dy) { return dy * std::exp(x); }},
    {.name = "log",
     .doc = "y = the natural logarithm of x",
     .ulps = 1.5,
     .fn = [](Expr x) { return log(x); },
     .reference = [](double x) { return std::log(x); },
     .saves = "x",
     .gradient = [](Expr x, Expr dy) { return dy / x; },
     .gradient_reference = [](double x, double dy) { return dy / x; },
     .gradient_ulps = 0.5},
    {.name = "log2",
     .doc = "y = the logarithm of x to base 2",
     .ulps = 2,
     .fn = [](Expr x) { return math::log2(x); },
     .reference = [](double x) { return std::log2(x); },
     .saves = "x",
     .gradient = [](Expr x, Expr dy) { return log_gradient(x, dy, M_LOG2E); },
     .gradient_reference = [](double x, double dy) { return dy * M_LOG2E / x; }},
    {.name = "log10",
     .doc = "y = the logarithm of x to base 10",
     .ulps = 1.5,
     .fn = [](Expr x) { return math::call("log10", {x}); },
     .reference = [](double x) { return std::log10(x); },
     .saves = "x",
     .gradient = [](Expr x, Expr dy) { return log_gradient(x, dy, M_LOG10E); },
     .gradient_reference = [](double x, double dy) { return dy * M_LOG10E / x; },
     .dtypes = {"f32", "f64"}},
    {.name = "log1p",
     .doc = "y = log(1 + x), accurate near 0",
     .ulps = 2,
     .fn = [](Expr x) { return math::log1p(x); },
     .reference = [](double x) { return std::log1p(x); },
     .saves = "x",
     .gradient = [](Expr x, Expr dy) { return dy / (1_r + x); },
     .gradient_reference = [](double x, double dy) { return dy / (1 + x); }},
};

// Gradients compute 1 - y^2 as (1 - y) (1 + y): for y near 1 the first factor is exact.
const UnarySpec trigonometry[] = {
    {.name = "sin",
     .doc = "y = sin x",
     .ulps = 2,
     .fn = [](Expr x) { return sin(x); },
     .reference = [](double x) { return std::sin(x); },
     .saves = "x",
     .gradient = [](Expr x, Expr dy) { return dy * cos(x); },
     .gradient_reference = [](double x, double dy) { return dy * std::cos(x); }},
    {.name = "cos",
     .doc = "y = cos x",
     .ulps = 2,
     .fn = [](Expr x) { return cos(x); },
     .reference = [](double x) { return std::cos(x); },
     .saves = "x",
     .gradient = [](Expr x, Expr dy) { return math::negative(dy) * sin(x); },
     .gradient_reference = [](double x, double dy) { return -dy * std::sin(x); }},
    {.name = "tan",
     .doc = "y = tan x",
     .ulps = 4,
     .fn = [](Expr x) { return tan(x); },
     .reference = [](double x) { return std::tan(x); },
     .saves = "y",
     .gradient = [](Expr y, Expr dy) { return dy * (1_r + y * y); },
     .gradient_reference = [](double y, double dy) { return dy * (1 + y * y); }},
    {.name = "tanh",
     .doc = "y = tanh x",
     .ulps = 2,
     .fn = [](Expr x) { return tanh(x); },
     .reference = [](double x) { return std::tanh(x); },
     .saves = "y",
     .gradient = [](Expr y, Expr dy) { return dy * strict_float((1_r - y) * (1_r + y)); },
     .gradient_reference = [](double y, double dy) { return dy * ((1 - y) * (1 + y)); }},
    {.name = "sinh",
     .doc = "y = sinh x",
     .ulps = 4,
     .fn = [](Expr x) { return sinh(x); },
     .reference = [](double x) { return std::sinh(x); },
     .saves = "x",
     .gradient = [](Expr x, Expr dy) { return dy * cosh(x); },
     .gradient_reference = [](double x, double dy) { return dy * std::cosh(x); },
     .gradient_ulps = 8},
    {.name = "cosh",
     .doc = "y = cosh x",
     .ulps = 4,
     .fn = [](Expr x) { return cosh(x); },
     .reference = [](double x) { return std::cosh(x); },
     .saves = "x",
     .gradient = [](Expr x, Expr dy) { return dy * sinh(x); },
     .gradient_reference = [](double x, double dy) { return dy * std::sinh(x); },
     .gradient_ulps = 8},
    {.name = "asin",
     .doc = "y = arcsin x",
     .ulps = 4,
     .fn = [](Expr x) { return asin(x); },
     .reference = [](double x) { return std::asin(x); },
     .saves = "x",
     .gradient = [](Expr x, Expr dy) { return dy * math::rsqrt((1_r - x) * (1_r + x)); },
     .gradient_reference = [](double x, double dy) { return dy / std::sqrt((1 - x) * (1 + x)); },
     .other_names = {"arcsin"}},
    {.name = "acos",
     .doc = "y = arccos x",
     .ulps = 4,
     .fn = [](Expr x) { return acos(x); },
     .reference = [](double x) { return std::acos(x); },
     .saves = "x",
     .gradient = [](Expr x,
                    Expr dy) { return math::negative(dy) * math::rsqrt((1_r - x) * (1_r + x)); },
     .gradient_reference = [](double x, double dy) { return -dy / std::sqrt((1 - x) * (1 + x)); },
     .alias = "ACos",
     .other_names = {"arccos"}},
    {.name = "atan",
     .doc = "y = arctan x",
     .ulps = 4,
     .fn = [](Expr x) { return atan(x); },
     .reference = [](double x) { return std::atan(x); },
     .saves = "x",
     .gradient = [](Expr x, Expr dy) { return atan_gradient(x, dy); },
     .gradient_reference = [](double x, double dy) { return dy / (1 + x * x); },
     .other_names = {"arctan"}},
    {.name = "asinh",
     .doc = "y = arsinh x",
     .ulps = 4,
     .fn = [](Expr x) { return asinh(x); },
     .reference = [](double x) { return std::asinh(x); },
     .saves = "x",
     .gradient = [](Expr x, Expr dy) -> Expr {
         return select(abs(x) > math::number(0x1p60), dy / abs(x), dy * math::rsqrt(1_r + x * x));
     },
     .gradient_reference = [](double x, double dy) { return dy / std::sqrt(1 + x * x); },
     .other_names = {"arcsinh"},
     .dtypes = {"f32", "f64"}},
    {.name = "acosh",
     .doc = "y = arcosh x",
     .ulps = 4,
     .fn = [](Expr x) { return acosh(x); },
     .reference = [](double x) { return std::acosh(x); },
     .saves = "x",
     .gradient =
         [](Expr x, Expr dy) {
             return strict_float(dy * math::rsqrt(x - 1_r) * math::rsqrt(x + 1_r));
         },
     .gradient_reference = [](double x,
                              double dy) { return dy / std::sqrt(x - 1) / std::sqrt(x + 1); },
     .other_names = {"arccosh"},
     .dtypes = {"f32", "f64"}},
    {.name = "atanh",
     .doc = "y = artanh x",
     .ulps = 4,
     .fn = [](Expr x) { return atanh(x); },
     .reference = [](double x) { return std::atanh(x); },
     .saves = "x",
     .gradient = [](Expr x, Expr dy) { return strict_float(dy / (1_r - x) / (1_r + x)); },
     .gradient_reference = [](double x, double dy) { return dy / (1 - x) / (1 + x); },
     .other_names = {"arctanh"},
     .dtypes = {"f32", "f64"}},
    {.name = "erf",
     .doc = "y = 2/sqrt(pi) times the integral of e^(-t^2) from 0 to x",
     .ulps = 2,
     .fn = [](Expr x) { return math::erf(x); },
     .reference = [](double x) { return std::erf(x); },
     .saves = "x",
     .gradient =
         [](Expr x, Expr dy) {
             return dy * math::call("exp_minus_square", {x}) * math::number(M_2_SQRTPI);
         },
     .gradient_reference =
         [](double x, double dy) { return double(dy * std::exp(-Long(x) * x) * M_2_SQRTPI); }},
    {.name = "erfc",
     .doc = "y = 1 - erf x, accurate where that is small",
     .ulps = 8,
     .fn = [](Expr x) { return math::erfc(x); },
     .reference = [](double x) { return std::erfc(x); },
     .saves = "x",
     .gradient =
         [](Expr x, Expr dy) {
             return dy * math::call("exp_minus_square", {x}) * math::number(-M_2_SQRTPI);
         },
     .gradient_reference =
         [](double x, double dy) { return double(-dy * std::exp(-Long(x) * x) * M_2_SQRTPI); }},
};

const UnarySpec activations[] = {
    {.name = "relu",
     .doc = "y = max(x, 0)",
     .ulps = 0,
     .fn = [](Expr x) -> Expr { return max(x, 0_r); },
     .reference = [](double x) { return x < 0 ? 0 : x; },
     .saves = "y",
     .gradient = [](Expr y, Expr dy) -> Expr { return select(y > 0_r, dy, 0_r); },
     .gradient_reference = [](double y, double dy) { return y > 0 ? dy : 0; },
     .gradient_ulps = 0,
     .alias = "ReLU",
     .dtypes = signed_numbers},
    {.name = "relu6",
     .doc = "y = min(max(x, 0), 6)",
     .ulps = 0,
     .fn = [](Expr x) { return clip(x, 0, 6); },
     .reference = [](double x) { return clip(x, 0, 6); },
     .saves = "x",
     .gradient = [](Expr x, Expr dy) -> Expr { return select(x > 0_r && x <= 6_r, dy, 0_r); },
     .gradient_reference = [](double x, double dy) { return x > 0 && x <= 6 ? dy : 0; },
     .gradient_ulps = 0,
     .alias = "ReLU6",
     .dtypes = {"f32", "f16", "bf16", "f64", "i32"}},
    {.name = "selu",
     .doc = "y = 1.0507 x where x > 0, else 1.0507 * 1.67326 (e^x - 1)",
     .ulps = 4,
     .fn = [](Expr x) -> Expr {
         return select(x > 0_r, math::number(selu_scale) * x,
                       math::number(selu_scale * selu_alpha) * math::expm1(x));
     },
     .reference =
         [](double x) { return x > 0 ? selu_scale * x : selu_scale * selu_alpha * std::expm1(x); },
     .saves = "x",
     .gradient = [](Expr x, Expr dy) -> Expr {
         return select(x > 0_r, math::number(selu_scale) * dy,
                       dy * strict_float(math::number(selu_scale * selu_alpha) * exp(x)));
     },
     .gradient_reference =
         [](double x, double dy) {
             return x > 0 ? selu_scale * dy : dy * (selu_scale * selu_alpha * std::exp(x));
         },
     .alias = "SeLU"},
    {.name = "gelu",
     .doc = "y = x P(N(0,1) < x)",
     .ulps = 5,
     .fn = [](Expr x) { return math::gelu(x); },
     .reference =
         [](double x) { return with_limit(x, double(0.5L * x * std::erfc(-x / std::sqrt(2.0L)))); },
     .saves = "x",
     .gradient = [](Expr x, Expr dy) { return dy * gelu_derivative(x); },
     .gradient_reference = [](double x, double dy) { return dy * gelu_derivative(x); },
     .gradient_ulps = 16,
     .gradient_abs_sum = [](double x,
                            double dy) { return std::fabs(dy) * gelu_derivative(x, true); },
     .alias = "GeLUErf"},
    {.name = "gelu_tanh",
     .doc = "y = x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))",
     .ulps = 8,
     .fn = [](Expr x) { return math::gelu_tanh(x); },
     .reference =
         [](double x) { return with_limit(x, double(x * long_sigmoid(gelu_tanh_argument(x)))); },
     .saves = "x",
     .gradient = [](Expr x, Expr dy) { return dy * gelu_tanh_derivative(x); },
     .gradient_reference = [](double x, double dy) { return dy * gelu_tanh_derivative(x); },
     .gradient_ulps = 16,
     .gradient_abs_sum = [](double x,
                            double dy) { return std::fabs(dy) * gelu_tanh_derivative(x, true); },
     .alias = "GeLU"},
    {.name = "fast_gelu",
     .doc = "y = x / (1 + e^(-1.702 x))",
     .ulps = 4,
     .fn = [](Expr x) { return math::call("fast_gelu", {x}); },
     .reference = [](double x) { return with_limit(x, double(x * long_sigmoid(1.702L * x))); },
     .saves = "x",
     .gradient = [](Expr x, Expr dy) { return dy * logistic_derivative(x, 1.702); },
     .gradient_reference = [](double x, double dy) { return dy * logistic_derivative(x, 1.702); },
     .gradient_ulps = 16,
     .gradient_abs_sum =
         [](double x, double dy) {
             return std::fabs(dy) *
                    derivative_at(x, [](Long h) { return logistic_abs_sum(h * 1.702, h * 1.702); });
         },
     .alias = "FastGeLU",
     .other_names = {"quick_gelu"}},
    {.name = "silu",
     .doc = "y = x / (1 + e^-x)",
     .ulps = 4,
     .fn = [](Expr x) { return math::silu(x); },
     .reference = [](double x) { return with_limit(x, x * sigmoid(x)); },
     .saves = "x",
     .gradient = [](Expr x, Expr dy) { return dy * logistic_derivative(x, 1); },
     .gradient_reference = [](double x, double dy) { return dy * logistic_derivative(x, 1); },
     .gradient_ulps = 16,
     .gradient_abs_sum =
         [](double x, double dy) {
             return std::fabs(dy) * derivative_at(x, [](Long h) {
                        return long_sigmoid(h) * (1 + std::fabs(h) * long_sigmoid(-h));
                    });
         },
     .alias = "SiLU",
     .other_names = {"swish"}},
    {.name = "mish",
     .doc = "y = x tanh(log(1 + e^x))",
     .ulps = 4.5,
     .fn = [](Expr x) { return math::mish(x); },
     .reference = mish,
     .saves = "x",
     .gradient = [](Expr x, Expr dy) { return dy * mish_derivative(x); },
     .gradient_reference = [](double x, double dy) { return dy * mish_derivative(x); },
     .gradient_ulps = 16,
     .gradient_abs_sum = [](double x,
                            double dy) { return std::fabs(dy) * mish_derivative(x, true); }},
    {.name = "sigmoid",
     .doc = "y = 1 / (1 + e^-x)",
     .ulps = 2.5,
     .fn = [](Expr x) { return math::sigmoid(x); },
     .reference = sigmoid,
     .saves = "y",
     .gradient = [](Expr y, Expr dy) { return dy * strict_float(y * (1_r - y)); },
     .gradient_reference = [](double y, double dy) { return dy * (y * (1 - y)); }},
    {.name = "logsigmoid",
     .doc = "y = -log(1 + e^-x)",
     .ulps = 4,
     .fn = [](Expr x) { return math::logsigmoid(x); },
     .reference = [](double x) { return -softplus(-x); },
     .saves = "x",
     .gradient = [](Expr x, Expr dy) { return dy * math::sigmoid(math::negative(x)); },
     .gradient_reference = [](double x, double dy) { return dy * sigmoid(-x); },
     .alias = "LogSigmoid",
     .other_names = {"log_sigmoid"}},
    // x + 3 is clipped before it is divided. Halide rewrites (x + 3) / 6 as x / 6 + 0.5, which is
    // below 0 at -3.
    {.name = "hard_sigmoid",
     .doc = "y = min(max((x + 3) / 6, 0), 1)",
     .ulps = 2,
     .fn = [](Expr x) { return clip(x + 3_r, 0, 6) / 6_r; },
     .reference = [](double x) { return clip((x + 3) / 6, 0, 1); },
     .saves = "x",
     .gradient = [](Expr x, Expr dy) -> Expr { return select(abs(x) < 3_r, dy / 6_r, 0_r); },
     .gradient_reference = [](double x, double dy) { return std::fabs(x) < 3 ? dy / 6 : 0; },
     .gradient_ulps = 1,
     .alias = "HSigmoid",
     .other_names = {"hardsigmoid"}},
    {.name = "hard_swish",
     .doc = "y = x min(max((x + 3) / 6, 0), 1)",
     .ulps = 3,
     .fn = [](Expr x) -> Expr {
         return select(x <= -3_r, 0_r, x >= 3_r, x, x * (clip(x + 3_r, 0, 6) / 6_r));
     },
     .reference = [](double x) { return x <= -3 ? 0 : x * clip((x + 3) / 6, 0, 1); },
     .saves = "x",
     .gradient = [](Expr x, Expr dy) -> Expr {
         return select(x <= -3_r, 0_r, x >= 3_r, dy, dy * (x + x + 3_r) / 6_r);
     },
     .gradient_reference =
         [](double x, double dy) { return x <= -3  ? 0
                                          : x >= 3 ? dy
                                                   : dy * (x + x + 3) / 6; },
     .gradient_abs_sum =
         [](double x, double dy) {
             return x <= -3  ? 0
                    : x >= 3 ? std::fabs(dy)
                             : std::fabs(dy) * (2 * std::fabs(x) + 3) / 6;
         },
     .alias = "HSwish",
     .other_names = {"hardswish"}},
    {.name = "softplus",
     .doc = "y = log(1 + e^x)",
     .ulps = 4,
     .fn = [](Expr x) { return math::softplus(x); },
     .reference = softplus,
     .saves = "x",
     .gradient = [](Expr x, Expr dy) { return dy * math::sigmoid(x); },
     .gradient_reference = [](double x, double dy) { return dy * sigmoid(x); }},
    {.name = "softsign",
     .doc = "y = x / (1 + |x|)",
     .ulps = 2,
     .fn = [](Expr x) { return x / (1_r + abs(x)); },
     .reference = [](double x) { return x / (1 + std::fabs(x)); },
     .saves = "x",
     .gradient = [](Expr x, Expr dy) { return strict_float(dy / (1_r + abs(x)) / (1_r + abs(x))); },
     .gradient_reference =
         [](double x, double dy) { return dy / ((1 + std::fabs(x)) * (1 + std::fabs(x))); }},
};

const UnarySpec predicates[] = {
    {.name = "is_nan",
     .doc = "y = x is not a number",
     .ulps = 0,
     .fn = [](Expr x) { return math::is_nan(x); },
     .reference = [](double x) -> double { return std::isnan(x); },
     .alias = "IsNan",
     .other_names = {"isnan"},
     .to_bool = true},
    {.name = "is_inf",
     .doc = "y = x is infinite",
     .ulps = 0,
     .fn = [](Expr x) { return x == math::highest() || x == math::lowest(); },
     .reference = [](double x) -> double { return std::isinf(x); },
     .other_names = {"isinf"},
     .to_bool = true},
    {.name = "is_finite",
     .doc = "y = x is a number and not infinite",
     .ulps = 0,
     .fn = [](Expr x) { return x < math::highest() && x > math::lowest(); },
     .reference = [](double x) -> double { return std::isfinite(x); },
     .other_names = {"isfinite"},
     .to_bool = true},
    {.name = "logical_not",
     .doc = "y = x is 0",
     .ulps = 0,
     .fn = [](Expr x) { return x == 0_r; },
     .reference = [](double x) -> double { return x == 0; },
     .dtypes = all_dtypes,
     .to_bool = true},
};

}  // namespace

HALYARD_OPS {
    add_unary(ops, rounding);
    add_unary(ops, bits);
    add_unary(ops, powers);
    add_unary(ops, trigonometry);
    add_unary(ops, activations);
    add_unary(ops, predicates);
}

}  // namespace halyard
