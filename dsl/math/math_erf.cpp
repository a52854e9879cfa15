// erf, erfc, the Gaussian, and GELU in its erf form.
#include "dsl/math/math_detail.h"

namespace halyard::math {
using namespace Halide;
namespace {

// Returns 2^-64 11/4 P(v - m), where e^(a^2/2) erfc(a / sqrt 2) / 2 = (1 - v) P(v - m) and
// v = a / (a + 11/4), for 0 <= a < 14.6. The relative error is 0.35 2^-24. With m = 0.313 the
// rounding errors at both ends are equal, and the constant coefficient is nearly a float.
Expr tail_polynomial(const Expr &v) {
    std::vector<double> c = {0.922427058,   -1.22809732,   0.744756997, 0.0790051147,
                             -0.275726408,  -0.0667420775, 0.117344439, 0.0798723027,
                             -0.0433722883, -0.0369045623};
    for (double &k : c)
        k *= 0x1p-64;
    return poly(minus(v, num(0.313)), c);
}

// Returns 2^64 e^(-s / 2) for s = high + low; an error of 1 ULP in s would be s / 2 ULP in the
// result. With the factor 2^64, which tail_polynomial() cancels, a subnormal result is rounded only
// once. 2 e^r is a polynomial in 2 r, which saves a multiplication by 1/2.
Expr gaussian(const Expr &high, const Expr &low) {
    Rounded n = nearest(high * num(-0.7213475204444817));
    Expr top = n.real * num(-2 * 0.693359375) - high;
    Expr low_part = n.real * num(2 * 2.12194440054690581e-4) - low;
    Expr r = plus(top, low_part);
    Expr p = r * r *
                 poly(r, {0.25, 0.166664883 / 4, 0.0416655615 / 8, 0.00837224349 / 16,
                          0.00140329078 / 32}) +
             low_part;
    return scale_exponent(plus(num(2), plus(top, p)), n.integer + 63);
}
// Returns x^2; the high part is exact.
DoubleFloat square_of(const Expr &x) {
    Expr top = upper12(x);
    return {times(top, top), times(minus(x, top), plus(x, top))};
}
// Returns erfc(z) for 0 <= z < 10.3.
Expr erfc_positive(const Expr &z) {
    DoubleFloat s = square_of(z);
    // 8/11 (1 - v), v = z / (z + 11/4 sqrt(1/2))
    Expr u = over(num(1.4142135623730951), plus(z, num(1.9445436482630056)));
    return times(gaussian(num(2) * s.high, num(2) * s.low),
                 u * tail_polynomial(z * (num(0.7071067811865476) * u)));
}

}  // namespace

// Computes x + x P(x^2) for |x| < 0.6. Beyond, it computes 1 - erfc(|x|) = 1 - 2^Q(|x|): erfc(0.6)
// is 0.4, so an error of 2^Q counts less than half.
Expr erf_f32(const Expr &x) {
    Expr q = poly(min(magnitude(x), num(4)),
                  {4.36202681e-05, -1.62834895, -0.916610241, -0.152446344, 0.033363197,
                   -0.00473845378, 0.000320493506});
    BiasedInteger n = nearest(q, 0);
    Expr p = poly(minus(q, n.real), {1, 0.693147182, 0.240226477, 0.0555035956, 0.00961850304,
                                     0.00133909984, 0.000153278321});
    Expr large = with_sign(minus(num(1), scale_exponent(p, n.bits)), sign_bit(x));
    Expr small = plus(
        x, x * poly(x * x, {0.128379166, -0.376125455, 0.112813294, -0.0266596507, 0.00452810246}));
    return select(nan_or_below(x, 0.6f), small, large);
}

Expr erfc_f32(const Expr &x) {
    Expr y = erfc_positive(min_or_nan(magnitude(x), 10.25));
    return select(bits(x) < 0, minus(num(2), y), y);
}

// Computes x Phi(x) = max(x, 0) - a Phi(-a), a = |x|. The multiplication by v is the last one, so
// that for a subnormal x the other products are normal.
Expr gelu_f32(const Expr &x) {
    Expr a = min_or_nan(magnitude(x), 14.5);
    Expr v = over(a, plus(a, num(2.75)));
    DoubleFloat s = square_of(a);
    Expr tail = times(times(gaussian(s.high, s.low), tail_polynomial(v)), v);  // a (1 - v) = 11/4 v
    return minus(select(bits(x) < 0, num(-0.0), x), tail);
}

// gaussian is e^(-x^2/2) and exp_minus_square is e^(-x^2). Both are computed from x^2 in two parts.
Expr gaussian_f32(const Expr &x) {
    DoubleFloat s = square_of(min_or_nan(magnitude(x), 14.5));
    return select(is_nan(x), x, times(gaussian(s.high, s.low), num(0x1p-64)));
}
Expr exp_minus_square_f32(const Expr &x) {
    DoubleFloat s = square_of(min_or_nan(magnitude(x), 10.25));
    return select(is_nan(x), x, times(gaussian(num(2) * s.high, num(2) * s.low), num(0x1p-64)));
}

}  // namespace halyard::math
