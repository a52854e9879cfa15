// erf, erfc and GELU in its erf form.
#include "dsl/math_detail.h"

namespace halyard::math {
using namespace Halide;
namespace {

// 2^-64 11/4 P, where e^(a^2/2) erfc(a / sqrt 2) / 2 = (1 - v) P(v - 1/2), v = a / (a + 11/4), 1/2 <= a < 13.4.
Expr tail_polynomial(const Expr &v) {
    std::vector<double> c = {0.718986034, -0.948708177, 0.729336619, -0.132534951, -0.263070405, 0.102986999, 0.159011006, -0.0418641791, -0.104476951};
    for (double &k : c) k *= 0x1p-64;
    return poly(minus(v, num(0.5)), c);
}

// 2^64 e^(-square / 2) for square = high + low: rounding it would cost `square` / 2 ULPs. The factor, undone by the other
// factor of the last product, lets a subnormal round once. 2 e^r is a polynomial in 2 r: no halving.
Expr gaussian(const Expr &high, const Expr &low) {
    Rounded n = nearest(high * num(-0.7213475204444817));
    Expr top = n.real * num(-2 * 0.693359375) - high, rest = n.real * num(2 * 2.12194440054690581e-4) - low, r = plus(top, rest);
    Expr p = r * r * poly(r, {0.25, 0.166664883 / 4, 0.0416655615 / 8, 0.00837224349 / 16, 0.00140329078 / 32}) + rest;
    return shifted(plus(num(2), plus(top, p)), n.whole + 63);
}
Two square_of(const Expr &x) {  // x^2, the first part exact
    Expr top = upper12(x);
    return {times(top, top), times(minus(x, top), plus(x, top))};
}
// erfc(z), 0.35 <= z < 10.3
Expr erfc_large(const Expr &z) {
    Two s = square_of(z);
    Expr u = over(num(1.4142135623730951), plus(z, num(1.9445436482630056)));  // 8/11 (1 - v), v = z / (z + 11/4 sqrt(1/2))
    return times(gaussian(num(2) * s.high, num(2) * s.low), u * tail_polynomial(z * (num(0.7071067811865476) * u)));
}
// erf(x) = x + x P(x^2), |x| < 1
const std::vector<double> erf_tail = {0.1283791658483509,   -0.37612626666720334,  0.11283594715160218,  -0.026854212010626412,
                                      0.005189087423433974, -0.000801686428716587, 7.875875062685488e-05};

}  // namespace

Expr erf_f32(const Expr &x) {
    Expr large = with_sign(minus(num(1), erfc_large(min(magnitude(x), num(4)))), sign_bit(x));
    return select(is_nan(x), x, abs_bits(x) < bits_of(0.9f), plus(x, x * poly(x * x, erf_tail)), large);
}

Expr erfc_f32(const Expr &x) {
    Expr y = erfc_large(min(magnitude(x), num(10.25)));
    y = select(bits(x) < 0, minus(num(2), y), y);
    return select(is_nan(x), x, abs_bits(x) < bits_of(0.5f), minus(num(1), plus(x, x * poly(x * x, erf_tail))), y);
}

Expr gelu_f32(const Expr &x) {  // x Phi(x) = max(x, 0) - a Phi(-a), a = |x|; near 0 x (1/2 + x S(x^2))
    Expr a = min(magnitude(x), num(14.5)), v = over(a, plus(a, num(2.75)));
    Two s = square_of(a);
    Expr tail = times(gaussian(s.high, s.low), v * tail_polynomial(v));  // a (1 - v) = 11/4 v
    Expr large = minus(select(bits(x) < 0, num(-0.0), x), tail);
    Expr small = times(x, plus(num(0.5), x * poly(x * x, {0.398942262, -0.0664895773, 0.00996188261, -0.00112439052})));
    return select(nan_or_below(x, 0.5f), small, large);
}

}  // namespace halyard::math
