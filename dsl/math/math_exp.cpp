// Exponentials, and functions of them. The argument is reduced as x = n ln2 + r, |r| <= ln2 / 2.
// ln2 has two parts, and n times the first part is exact. The two parts of r are added by strict
// operations only. Coefficients are minimax fits (Remez) of the relative error.
#include "dsl/math/math_detail.h"

namespace halyard::math {
using namespace Halide;
namespace {

constexpr double log2_e = 1.4426950408889634, ln2_high = 0.693359375,
                 ln2_low = -2.12194440054690581e-4;

struct Reduced {
    // n is an int or, with a bias, has n + bias in its low bits. `high` is exact.
    Expr n, high, low;
};
Reduced reduce(const Expr &x, int bias = 0) {
    const Expr exponent = x * num(log2_e);
    BiasedInteger n = nearest(exponent, bias);
    return {bias ? n.bits : nearest(exponent).integer, x - n.real * num(ln2_high),
            n.real * num(-ln2_low)};
}

// Returns (e^r - 1 - r) / r^2 for |r| <= ln2 / 2.
Expr quotient(const Expr &r) {
    return poly(r, {0.5, 0.166664883, 0.0416655615, 0.00837224349, 0.00140329078});
}

// Returns log(1 + e) = e + e^2 P(e) for e in [0, 1]. softplus needs no reduction of its argument.
Expr log1p_unit(const Expr &e) {
    return plus(e, e * e *
                       poly(e, {-0.499999315, 0.333304644, -0.24958019, 0.196921021, -0.153448805,
                                0.106611282, -0.0574572273, 0.0200862326, -0.00329046301}));
}

// Returns sinh(|x|) / 2 and cosh(|x|) / 2, which do not overflow. They are sums around 2^(n-2) -+
// 2^(-n-2).
struct Hyperbolic {
    Expr sinh, cosh;
};
Hyperbolic hyperbolic(const Expr &ax) {
    auto [n, high, low] = reduce(ax);
    Expr r = plus(high, low);
    Expr z = r * r;
    Expr sh = r + r * z * poly(z, {0.166666672, 0.00833317544, 0.000199741044});  // sinh r
    Expr ch = z * poly(z, {0.5, 0.0416664593, 0.00139354263});                    // cosh r - 1
    Expr up = from_exponent(n + 125);
    Expr down = from_exponent(max(125 - n, 0));
    Expr sum = plus(up, down);
    Expr difference = minus(up, down);
    return {plus(difference, difference * ch + sum * sh), plus(sum, sum * ch + difference * sh)};
}

}  // namespace

Power natural_power(const Expr &x, const Expr &low, int bias) {
    auto [n, high, low_part] = reduce(x, bias);
    if (low.defined()) low_part = low_part + low;
    Expr r = plus(high, low_part);
    return {n, plus(high, r * r * quotient(r) + low_part)};
}

// 2^n is the product of two powers of two, because n may exceed the range of exponents; n.bits has
// n + 2 * 127 in its low bits. The quotient's terms are two independent chains, which is a little
// faster than one (docs/performance.md, "exp").
Expr exp_f32(const Expr &x) {
    Expr c = min_or_nan(max_or_nan(x, -110), 89);
    BiasedInteger n = nearest(c * num(log2_e), 254);
    Expr high = c - n.real * num(ln2_high);
    Expr low = n.real * num(-ln2_low);
    Expr r = plus(high, low);
    Expr z = r * r;
    Expr q = poly(r, {0.5, 0.166664883}) +
             z * (poly(r, {0.0416655615, 0.00837224349}) + z * num(0.00140329078));
    Expr p = plus(num(1), plus(high, z * q + low));
    Expr half = n.bits >> 1;
    return times(times(p, power_of_bits(half)), power_of_bits(n.bits - half));
}

// Without subnormal results, one multiplication by a power of two is enough.
Expr exp_nonpositive_f32(const Expr &x) {
    BiasedInteger n = nearest(x * num(log2_e), 127);
    Expr r = plus(x - n.real * num(ln2_high), n.real * num(-ln2_low));
    Expr p = r * (r * quotient(r) + num(1)) + num(1);
    return select(less(x, num(-87.3365)), num(0), times(p, power_of_bits(n.bits)));
}

Expr exp2_f32(const Expr &x) {
    Expr c = clamped(x, -160, 129);
    Rounded n = nearest(c);
    Expr r = minus(c, n.real);
    Expr p = plus(num(1), r * poly(r, {0.693147242, 0.240226552, 0.0555027239, 0.00961706508,
                                       0.00134181697, 0.000158197989}));
    return select(is_nan(x), x, ldexp(p, n.integer));
}

// Computes 2 (2^(n-1) p + (2^(n-1) - 1/2)), because 2^n would overflow too early.
Expr expm1_f32(const Expr &x) {
    auto [n, p] = natural_power(clamped(x, -20, 89));
    Expr half = from_exponent(n + 126);
    Expr y = times(num(2), plus(times(half, p), minus(half, num(0.5))));
    return select(nan_or_below(x, 0x1p-25f), x, y);
}

Expr sinh_f32(const Expr &x) {
    Expr y = times(num(2), hyperbolic(min(magnitude(x), num(89.5))).sinh);
    return select(nan_or_below(x, 0x1p-13f), x, with_sign(y, sign_bit(x)));
}

Expr cosh_f32(const Expr &x) {
    Expr y = times(num(2), hyperbolic(min(magnitude(x), num(89.5))).cosh);
    return select(is_nan(x), x, y);
}

// Computes 1 - 2 / (e^2|x| + 1) for large x. Near 1 the error of the quotient is far below an ULP
// of the result, so the function is monotonic.
Expr tanh_f32(const Expr &x) {
    Expr a = magnitude(x);
    Expr z = a * a;
    auto [n, p] = natural_power(num(2) * min_or_nan(a, 9.5), Expr(), 127);
    Expr s = power_of_bits(n);
    Expr large = minus(num(1), over(num(2), plus(times(s, p), plus(s, num(1)))));
    Expr small = plus(
        a, a * z * poly(z, {-0.333333135, 0.13332437, -0.0538357571, 0.021000376, -0.00616961392}));
    return with_sign(select(bits(a) < bits_of(0.55f), small, large), sign_bit(x));
}

// Returns numerator / (1 + e^-v), where -v = high + low, |v| < 128, and `numerator` is x clamped.
// Both sides of the fraction are multiplied by 2^-64, so that e^-v does not overflow and a
// subnormal quotient is rounded once. If x is so small that it would lose digits, the result is x
// / 2.
static Expr logistic(const Expr &x, const Expr &numerator, const Expr &high,
                     const Expr &low = Expr()) {
    auto [n, p] = natural_power(high, low, 127 - 64);
    Expr y = over(times(num(0x1p-64), numerator),
                  plus(num(0x1p-64), times(power_of_bits(n), plus(num(1), p))));
    return select(less(magnitude(x), num(0x1p-60)), times(num(0.5), x), y);
}

// Computes 1 / (1 + e^-x), which is monotonic; e / (1 + e) is not, because 1 + e is rounded. Both
// sides of the fraction are multiplied by 2^-64, so that e^104 does not overflow.
Expr sigmoid_f32(const Expr &x) {
    auto [n, p] = natural_power(-max_or_nan(min_or_nan(x, 40), -104.5), Expr(), 127 - 64);
    return over(num(0x1p-64), plus(num(0x1p-64), times(power_of_bits(n), plus(num(1), p))));
}

Expr silu_f32(const Expr &x) {
    Expr c = max_or_nan(x, -110);
    return logistic(x, c, -min_or_nan(c, 40));
}

// Computes x tanh(log(1 + e^x)) = x e (e + 2) / (e (e + 2) + 2), e = e^x. Both sides of the
// fraction are multiplied by 2^64.
Expr mish_f32(const Expr &x) {
    Expr c = clamped(x, -120, 20);
    auto [n, p] = natural_power(c);
    Expr large = scale_exponent(plus(num(1), p), n + 64);
    Expr e = times(large, num(0x1p-64));
    Expr t = times(large, c);
    Expr y = over(t * e + plus(t, t), plus(large * (e + num(2)), num(0x1p65)));
    return select(bits(x) >= bits_of(20.0f) || is_nan(x), x, y);
}

// Computes max(x, 0) + log(1 + e^-|x|).
Expr softplus_f32(const Expr &x) {
    auto [n, p] = natural_power(-min(magnitude(x), num(110)));
    Expr e = ldexp(plus(num(1), p), n);
    Expr y = plus(select(bits(x) < 0, num(0), x), log1p_unit(e));
    return select(is_nan(x), x, y);
}

Expr logsigmoid_f32(const Expr &x) {
    Expr y = softplus_f32(as_float(bits(x) ^ mask(0x80000000)));
    return as_float(bits(y) ^ mask(0x80000000));
}

// Computes v = 2 sqrt(2/pi) (c + 0.044715 c^3) in two parts: an error of 1 ULP in v would be v ULP
// in the left tail. The leading 12 bits of c, c^2 and the ratio v / c are multiplied exactly; for
// the low parts, float operations are accurate enough.
Expr gelu_tanh_f32(const Expr &x) {
    const double a = 1.5957691216057308, b = 0.07135481627260025;
    Expr lower = max_or_nan(x, -11.5);
    Expr c = min_or_nan(lower, 6);
    Expr ah = num(1.595703125), bh = num(0.071350097656250);
    Expr top = upper12(c);
    Expr square = times(top, top);
    Expr square12 = upper12(square);
    Expr cubic = times(bh, square12);
    Expr ratio12 = upper12(plus(ah, cubic));
    Expr square_low = plus(minus(square, square12), times(minus(c, top), plus(c, top)));
    Expr ratio_low = plus(plus(minus(ah, ratio12), cubic),
                          num(a - 1.595703125) + num(b - 0.071350097656250) * (c * c) +
                              bh * square_low);
    return logistic(x, lower, -times(top, ratio12), -(minus(c, top) * ratio12 + c * ratio_low));
}

// Computes v = 1.702 c in two parts.
Expr fast_gelu_f32(const Expr &x) {
    Expr lower = max_or_nan(x, -70);
    Expr c = min_or_nan(lower, 25);
    Expr top = upper12(c);
    Expr ratio12 = num(1.7021484375);
    return logistic(x, lower, -times(top, ratio12),
                    -(minus(c, top) * ratio12 + c * num(1.702 - 1.7021484375)));
}

}  // namespace halyard::math
