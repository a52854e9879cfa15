// e^x and what is made of it. Reduction: x = n ln2 + r, |r| <= ln2 / 2, with ln2 in two parts, the
// first short enough that n times it is exact; r's parts are only ever added by strict operations.
// Coefficients: minimax fits (Remez), relative to the function.
#include "dsl/math/math_detail.h"

namespace halyard::math {
using namespace Halide;
namespace {

constexpr double log2_e = 1.4426950408889634, ln2_high = 0.693359375,
                 ln2_low = -2.12194440054690581e-4;

struct Reduced {
    Expr n, high, low;  // n + bias in the low bits, an int where there is no bias; high exact
};
Reduced reduce(const Expr &x, int bias = 0) {
    const Expr turns = x * num(log2_e);
    Shifted n = nearest(turns, bias);
    return {bias ? n.bits : nearest(turns).whole, x - n.real * num(ln2_high),
            n.real * num(-ln2_low)};
}

// (e^r - 1 - r) / r^2 on |r| <= ln2 / 2
Expr quotient(const Expr &r) {
    return poly(r, {0.5, 0.166664883, 0.0416655615, 0.00837224349, 0.00140329078});
}

// log(1 + e) = e + e^2 P(e) on [0, 1]: softplus needs no reduction of its argument
Expr log1p_unit(const Expr &e) {
    return plus(e, e * e *
                       poly(e, {-0.499999315, 0.333304644, -0.24958019, 0.196921021, -0.153448805,
                                0.106611282, -0.0574572273, 0.0200862326, -0.00329046301}));
}

// The parts of sinh and cosh of |x|, halved against overflow: high + low where high = 2^(n-2) -+
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
    auto [n, high, rest] = reduce(x, bias);
    if (low.defined()) rest = rest + low;
    Expr r = plus(high, rest);
    return {n, plus(high, r * r * quotient(r) + rest)};
}

// 2^n in two factors, so that n may leave the range of exponents: t holds 2 * 127 + n in its low
// bits. The quotient's terms in two chains that don't wait for each other: 0.97 of the time
// (AVX-512, Zen 5, within L1).
Expr exp_f32(const Expr &x) {
    Expr c = held_below(held_above(x, -110), 89);
    Shifted n = nearest(c * num(log2_e), 254);
    Expr high = c - n.real * num(ln2_high);
    Expr rest = n.real * num(-ln2_low);
    Expr r = plus(high, rest);
    Expr z = r * r;
    Expr q = poly(r, {0.5, 0.166664883}) +
             z * (poly(r, {0.0416655615, 0.00837224349}) + z * num(0.00140329078));
    Expr p = plus(num(1), plus(high, z * q + rest));
    Expr half = n.bits >> 1;
    return times(times(p, power_of_bits(half)), power_of_bits(n.bits - half));
}

// One multiplication scales, and below 2^-126 stands 0.
Expr exp_nonpositive_f32(const Expr &x) {
    Shifted n = nearest(x * num(log2_e), 127);
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
    return select(is_nan(x), x, scaled(p, n.whole));
}

// 2 (2^(n-1) p + (2^(n-1) - 1/2)): 2^n alone would overflow too early
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

// 1 - 2 / (e^2|x| + 1): near 1 the error of the quotient is far below the last place, so that the
// function never falls.
Expr tanh_f32(const Expr &x) {
    Expr a = magnitude(x);
    Expr z = a * a;
    auto [n, p] = natural_power(num(2) * held_below(a, 9.5), Expr(), 127);
    Expr s = power_of_bits(n);
    Expr large = minus(num(1), over(num(2), plus(times(s, p), plus(s, num(1)))));
    Expr small = plus(
        a, a * z * poly(z, {-0.333333135, 0.13332437, -0.0538357571, 0.021000376, -0.00616961392}));
    return with_sign(select(bits(a) < bits_of(0.55f), small, large), sign_bit(x));
}

// x / (1 + e^-v), -v = high + low, |v| < 128, with `numerator` for x. Both parts 2^64 times too
// small, so that e^-v is a number and a subnormal quotient rounds once; where x would lose digits
// to that, it is x / 2.
static Expr logistic(const Expr &x, const Expr &numerator, const Expr &high,
                     const Expr &low = Expr()) {
    auto [n, p] = natural_power(high, low, 127 - 64);
    Expr y = over(times(num(0x1p-64), numerator),
                  plus(num(0x1p-64), times(power_of_bits(n), plus(num(1), p))));
    return select(less(magnitude(x), num(0x1p-60)), times(num(0.5), x), y);
}

// 1 / (1 + e^-x), which never falls; e / (1 + e) would, where 1 + e is rounded. Both parts 2^64
// times too small, so that e^104 is a number.
Expr sigmoid_f32(const Expr &x) {
    auto [n, p] = natural_power(-held_above(held_below(x, 40), -104.5), Expr(), 127 - 64);
    return over(num(0x1p-64), plus(num(0x1p-64), times(power_of_bits(n), plus(num(1), p))));
}

Expr silu_f32(const Expr &x) {
    Expr c = held_above(x, -110);
    return logistic(x, c, -held_below(c, 40));
}

// x tanh(log(1 + e^x)) = x e (e + 2) / (e (e + 2) + 2), e = e^x; kept 2^64 times too large
Expr mish_f32(const Expr &x) {
    Expr c = clamped(x, -120, 20);
    auto [n, p] = natural_power(c);
    Expr large = shifted(plus(num(1), p), n + 64);
    Expr e = times(large, num(0x1p-64));
    Expr t = times(large, c);
    Expr y = over(t * e + plus(t, t), plus(large * (e + num(2)), num(0x1p65)));
    return select(bits(x) >= bits_of(20.0f) || is_nan(x), x, y);
}

Expr softplus_f32(const Expr &x) {  // max(x, 0) + log(1 + e^-|x|)
    auto [n, p] = natural_power(-min(magnitude(x), num(110)));
    Expr e = scaled(plus(num(1), p), n);
    Expr y = plus(select(bits(x) < 0, num(0), x), log1p_unit(e));
    return select(is_nan(x), x, y);
}

Expr logsigmoid_f32(const Expr &x) {
    Expr y = softplus_f32(as_float(bits(x) ^ mask(0x80000000)));
    return as_float(bits(y) ^ mask(0x80000000));
}

// v = 2 sqrt(2/pi) (c + 0.044715 c^3) in two parts: rounding v would cost v ULPs in the left tail.
// Of c, c^2 and the slope v / c the leading 12 bits are multiplied, which is exact; the rest needs
// no more than a float.
Expr gelu_tanh_f32(const Expr &x) {
    const double a = 1.5957691216057308, b = 0.07135481627260025;
    Expr least = held_above(x, -11.5);
    Expr c = held_below(least, 6);
    Expr ah = num(1.595703125), bh = num(0.071350097656250);
    Expr top = upper12(c);
    Expr square = times(top, top);
    Expr square12 = upper12(square);
    Expr cubic = times(bh, square12);
    Expr slope12 = upper12(plus(ah, cubic));
    Expr square_rest = plus(minus(square, square12), times(minus(c, top), plus(c, top)));
    Expr slope_rest = plus(plus(minus(ah, slope12), cubic),
                           num(a - 1.595703125) + num(b - 0.071350097656250) * (c * c) +
                               bh * square_rest);
    return logistic(x, least, -times(top, slope12), -(minus(c, top) * slope12 + c * slope_rest));
}

Expr fast_gelu_f32(const Expr &x) {  // v = 1.702 c in two parts
    Expr least = held_above(x, -70);
    Expr c = held_below(least, 25);
    Expr top = upper12(c);
    Expr slope12 = num(1.7021484375);
    return logistic(x, least, -times(top, slope12),
                    -(minus(c, top) * slope12 + c * num(1.702 - 1.7021484375)));
}

}  // namespace halyard::math
