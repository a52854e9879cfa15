// erf, erfc and GELU in its erf form.
#include "dsl/math_detail.h"

namespace halyard::math {
using namespace Halide;
namespace {

// erfc(z) = e^(-z^2) P(q) / (1 + 2 z), q = (z - 2) / (z + 2), 0 <= z < 10.3, times `factor`.
// z^2 comes in two parts: rounding it would cost z^2 ULPs.
Expr erfc_scaled(const Expr &z, const Expr &square, const Expr &low, const Expr &factor) {
    Expr q = over(minus(z, num(2)), plus(z, num(2)));
    Expr p = poly(q, {1.2769783906230798, -0.09276391861488864, -0.1660312566542886, 0.16405372453261946, -0.05420619267616751, -0.008048842866115376,
                      0.00864103571308548, 0.0012858864700037317, -0.0012520976608363106, -0.00037734054862673577, 1.9637760484769274e-05});
    auto [n, r] = natural_power(-square, -low);
    return scaled(plus(num(1), r) * over(factor * p, num(1) + num(2) * z), n);
}
Two square_of(const Expr &x) {  // x^2, the first part exact
    Expr top = upper12(x);
    return {times(top, top), times(minus(x, top), plus(x, top))};
}
// erf(x) = x + x P(x^2), |x| < 1
const std::vector<double> erf_tail = {0.1283791658483509, -0.37612626666720334, 0.11283594715160218, -0.026854212010626412, 0.005189087423433974,
                                      -0.000801686428716587, 7.875875062685488e-05};

}  // namespace

Expr erf_f32(const Expr &x) {
    Expr z = min(magnitude(x), num(4)), t = x * x;
    Two s = square_of(z);
    Expr large = with_sign(minus(num(1), erfc_scaled(z, s.high, s.low, num(1))), sign_bit(x));
    Expr small = plus(x, x * poly(t, erf_tail));
    return select(is_nan(x), x, abs_bits(x) < bits_of(0.9f), small, large);
}

Expr erfc_f32(const Expr &x) {
    Expr z = min(magnitude(x), num(10.25));
    Two s = square_of(z);
    Expr y = erfc_scaled(z, s.high, s.low, num(1));
    return select(is_nan(x), x, bits(x) < 0, minus(num(2), y), y);
}

Expr gelu_f32(const Expr &x) {  // x Phi(x), Phi(x) = erfc(-x / sqrt 2) / 2
    Expr a = min(magnitude(x), num(14.5)), left = bits(x) < 0;
    Two s = square_of(a);
    Expr p = erfc_scaled(a * num(0.70710678118654752), num(0.5) * s.high, num(0.5) * s.low, select(left, num(-0.5) * a, num(0.5)));
    Expr small = x * plus(num(0.5), x * num(0.35355339059327376) * (num(1) + poly(num(0.5) * x * x, erf_tail)));
    Expr y = select(left, p, times(x, minus(num(1), p)));
    y = select(bits(x) < bits_of(1.0f) && (!left || abs_bits(x) < bits_of(0.4f)), small, y);
    return select(is_nan(x), x, y);
}

}  // namespace halyard::math
