// erf, erfc and GELU in its erf form.
#include "dsl/math_detail.h"

namespace halyard::math {
using namespace Halide;
namespace {

// e^(a^2/2) erfc(a / sqrt 2) / 2 = u P(1 - 6 u), u = 1 / (a + 3), 0 <= a < 14.6; here for z = a / sqrt 2, or for a itself.
const std::vector<double> normal_tail = {0.729083717, -0.50933218, 0.230017692, -0.0472581536, -0.010462258, 0.00693732873, 0.00101638923,
                                         -0.000946828339, -0.000202964002, 5.24015231e-05};

// e^-square, square = high + low in two parts (rounding it would cost `square` ULPs), kept 2^64 too large until the last
// product, so that a subnormal rounds once.
Expr gaussian(const Expr &high, const Expr &low) {
    auto [n, p] = natural_power(-high, -low);
    return times(plus(num(1), p), from_exponent(n + 191));
}
Two square_of(const Expr &x) {  // x^2, the first part exact
    Expr top = upper12(x);
    return {times(top, top), times(minus(x, top), plus(x, top))};
}
// 2^64 erfc(z), 0 <= z < 10.3
Expr erfc_large(const Expr &z) {
    Two s = square_of(z);
    Expr u = over(num(1.4142135623730951), plus(z, num(2.1213203435596424)));  // 2 / (a + 3)
    return gaussian(s.high, s.low) * (u * poly(num(1) - num(3) * u, normal_tail));
}
// erf(x) = x + x P(x^2), |x| < 1
const std::vector<double> erf_tail = {0.1283791658483509, -0.37612626666720334, 0.11283594715160218, -0.026854212010626412, 0.005189087423433974,
                                      -0.000801686428716587, 7.875875062685488e-05};

}  // namespace

Expr erf_f32(const Expr &x) {
    Expr t = x * x, large = with_sign(minus(num(1), times(erfc_large(min(magnitude(x), num(4))), num(0x1p-64))), sign_bit(x));
    return select(is_nan(x), x, abs_bits(x) < bits_of(0.9f), plus(x, x * poly(t, erf_tail)), large);
}

Expr erfc_f32(const Expr &x) {
    Expr y = times(erfc_large(min(magnitude(x), num(10.25))), num(0x1p-64));
    return select(is_nan(x), x, bits(x) < 0, minus(num(2), y), y);
}

Expr gelu_f32(const Expr &x) {  // x Phi(x); Phi(-a) = e^(-a^2/2) u P
    Expr a = min(magnitude(x), num(14.5));
    Two s = square_of(a);
    Expr u = over(num(1), plus(a, num(3)));
    Expr tail = gaussian(num(0.5) * s.high, num(0.5) * s.low) * (u * poly(num(1) - num(6) * u, normal_tail));
    Expr y = select(bits(x) < 0, times(times(tail, -a), num(0x1p-64)), times(x, minus(num(1), times(tail, num(0x1p-64)))));
    return select(is_nan(x), x, y);
}

}  // namespace halyard::math
