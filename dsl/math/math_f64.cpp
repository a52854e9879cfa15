// Float(64) functions x f(v) whose v = v(x) has an error that counts: in the left tail an ulp of v
// is |v| ulps of e^v, and v^2 ulps of erfc. So v is computed in two parts. exp and erfc are libm's.
#include <cmath>

#include "dsl/math/math_detail.h"

namespace halyard::math {
using namespace Halide;
namespace {

Expr num64(double v) {
    return Internal::FloatImm::make(Float(64), v);
}
Expr libm(const std::string &name, const Expr &x) {
    return Internal::Call::make(Float(64), name, {x}, Internal::Call::PureExtern);
}
// Returns x truncated to the leading 26 bits of its significand.
Expr upper26(const Expr &x) {
    return reinterpret(Float(64), reinterpret(UInt(64), x) &
                                      Internal::make_const(UInt(64), 0xfffffffff8000000u));
}
// Returns x limited to +-limit, beyond which the function is 0 or x; for NaN, any value in between.
Expr limited(const Expr &x, double limit) {
    return min(max(x, num64(-limit)), num64(limit));
}

// The unevaluated sum of two doubles, |low| <= ulp(high).
struct DoubleDouble {
    Expr high, low;
};
DoubleDouble constant(long double v) {
    const auto high = static_cast<double>(v);
    return {num64(high), num64(static_cast<double>(v - high))};
}
// Returns a b exactly (Dekker 1971), unless it is near the limits of f64.
DoubleDouble two_product64(const Expr &a, const Expr &b) {
    const Expr ah = upper26(a);
    const Expr al = minus(a, ah);
    const Expr bh = upper26(b);
    const Expr bl = minus(b, bh);
    const Expr p = times(a, b);
    return {p,
            plus(plus(plus(minus(times(ah, bh), p), times(ah, bl)), times(al, bh)), times(al, bl))};
}
// Returns a + b exactly (Knuth 1969).
DoubleDouble two_sum64(const Expr &a, const Expr &b) {
    const Expr s = plus(a, b);
    const Expr of_b = minus(s, a);
    return {s, plus(minus(a, minus(s, of_b)), minus(b, of_b))};
}
// Returns a b with a relative error of about 2^-100.
DoubleDouble product(const Expr &a, const DoubleDouble &b) {
    const DoubleDouble p = two_product64(a, b.high);
    return {p.high, plus(p.low, times(a, b.low))};
}

// Returns 1 / (1 + e^-v). |v| is |high| + low or |high| - low, and e^-low is 1 - low.
Expr logistic64(const DoubleDouble &v) {
    const Expr is_negative = v.high < num64(0);
    const Expr low = select(is_negative, minus(num64(0), v.low), v.low);
    const Expr of_high = libm("exp_f64", minus(num64(0), abs(v.high)));
    const Expr e = minus(of_high, times(of_high, low));
    return select(is_negative, e, num64(1)) / (num64(1) + e);
}

}  // namespace

Expr gelu_tanh_f64(const Expr &x) {
    const long double a = 2 * std::sqrt(2 / 3.141592653589793238462643383279502884L);
    const DoubleDouble linear = constant(a);
    const DoubleDouble cubic = constant(a * 0.044715L);
    const Expr c = limited(x, 64);
    const DoubleDouble square = two_product64(c, c);
    const DoubleDouble first = product(square.high, cubic);
    const DoubleDouble slope = two_sum64(linear.high, first.high);
    const Expr rest = plus(plus(first.low, times(square.low, cubic.high)), linear.low);
    return x * logistic64(product(c, {slope.high, plus(slope.low, rest)}));
}

Expr fast_gelu_f64(const Expr &x) {
    return x * logistic64(product(limited(x, 1024), constant(1.702L)));
}

// Computes x erfc(z) / 2, z = -x / sqrt 2. The relative change of erfc(z + d) is -d D(z), D(z) = 2
// / sqrt(pi) e^(-z^2) / erfc(z). For z > 0, D(z) is between z + sqrt(z^2 + 4 / pi) and z + sqrt(z^2
// + 2) (Abramowitz and Stegun 7.1.13). For z < 0 the change is far below an ulp.
Expr gelu_f64(const Expr &x) {
    const DoubleDouble z = product(limited(x, 64), constant(-std::sqrt(0.5L)));
    const Expr positive = max(z.high, num64(0));
    const Expr change = z.low * (positive + sqrt(positive * positive + num64(2)));
    const Expr y = libm("erfc", z.high);
    return num64(0.5) * x * minus(y, times(y, select(z.high > num64(0), change, num64(0))));
}

}  // namespace halyard::math
