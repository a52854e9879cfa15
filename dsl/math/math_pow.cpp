// Powers. x^y = 2^(y log2 |x|) with log2 and the product carried in two parts: y multiplies the
// error of the logarithm by up to 128.
#include "dsl/math/math_detail.h"

namespace halyard::math {
using namespace Halide;
namespace {

constexpr int32_t sqrt_half = 0x3f3504f3;

Two sum(const Two &a, const Two &b) {  // |a| >= |b|
    Two s = quick_sum(a.high, b.high);
    return quick_sum(s.high, plus(s.low, plus(a.low, b.low)));
}

// log2(x) = e + 2 log2(e) atanh(s), s = f / (2 + f); x > 0 and finite.
Two log2_two(const Expr &x0) {
    Expr tiny = bits(x0) < 0x00800000;
    Expr b = bits(select(tiny, x0 * num(0x1p23), x0)) - sqrt_half;
    Expr e = cast(Float(32), (b >> 23) - select(tiny, 23, 0));
    Expr f = minus(as_float((b & mask(0x7fffff)) + sqrt_half), num(1));
    Two d = quick_sum(num(2), f);
    Expr s = over(f, d.high);
    Two back = exact_product(s, d.high);
    Expr s_low = over(minus(minus(minus(f, back.high), back.low), s * d.low), d.high);
    // 2 log2(e) = 2.885390043258667 + 3.85192607e-8
    Two first = exact_product(s, num(2.885390043258667));
    // the next coefficient, 0.96, as 1 - 0.04: one rounding less of s^3, whose error y multiplies
    Expr z = times(s, s);
    Expr cube = times(s, z);
    Expr rest = poly(z, {0.961796701 - 1, 0.577078879, 0.411921203, 0.336635947});
    first.low = plus(first.low, s * num(3.85192607e-8) +
                                    s_low * (num(2.885390043258667) + num(2.885390043258667) * z));
    Two fraction = sum(first, {cube, cube * rest});
    return sum({e, num(0)}, fraction);  // |e| >= |fraction| or e = 0, where the sum is exact too
}

}  // namespace

// sqrt(1 / x): the root halves the error of the division. 1 / x must not overflow nor be subnormal.
Expr rsqrt_f32(const Expr &x) {
    Expr tiny = bits(x) < 0x00800000;
    Expr huge = bits(x) > 0x7e000000;
    Expr y = sqrt(over(num(1), times(x, select(tiny, num(0x1p24), huge, num(0x1p-24), num(1)))));
    y = times(y, select(tiny, num(0x1p12), huge, num(0x1p-12), num(1)));
    y = select(bits(x) < 0, select(abs_bits(x) == 0, -inf(), nan()), abs_bits(x) == 0, inf(), y);
    return select(is_nan(x), x, bits(x) == 0x7f800000, num(0), y);
}

Expr pow_f32(const Expr &x, const Expr &y) {
    Two l = log2_two(magnitude(x));
    Two t = exact_product(y, l.high);
    Expr outside = abs_bits(t.high) > bits_of(200.0f);
    Expr high = select(outside, as_float(sign_bit(t.high) | bits_of(200.0f)), t.high);
    Expr low = select(outside, num(0), plus(t.low, times(y, l.low)));
    Rounded n = nearest(high);
    Expr r = plus(minus(high, n.real), low);
    Expr p = plus(num(1), r * poly(r, {0.693147242, 0.240226552, 0.0555027239, 0.00961706508,
                                       0.00134181697, 0.000158197989}));
    Expr result = scaled(p, n.whole);

    const int32_t inf_bits = 0x7f800000;
    const int32_t one = bits_of(1.0f);
    Expr ax = abs_bits(x);
    Expr ay = abs_bits(y);
    Expr grows = bits(y) >= 0;
    Expr zero_or_inf = ax == 0 || ax == inf_bits;
    result = select(zero_or_inf, select((ax == 0) == grows, num(0), inf()), result);
    // y = inf: |x| against 1 decides
    result = select(ay == inf_bits, select(ax == one, num(1), (ax > one) == grows, inf(), num(0)),
                    result);
    // integer and odd: by the exponent, the bits of y below (and at) the point
    // y = significand 2^-point
    Expr point = clamp(150 - (ay >> 23), 0, 31);
    Expr significand = (ay & mask(0x7fffff)) | mask(0x800000);
    Expr whole = ay == 0 || (ay >> 23) >= 150 ||
                 (point < 24 && (significand & ((Expr(1) << point) - 1)) == 0);
    Expr odd = (ay >> 23) <= 150 && point < 24 && whole && ((significand >> point) & 1) != 0;
    Expr negative = bits(x) < 0;
    result = select(negative && !whole && ax != 0 && ax != inf_bits, nan(), result);
    result = as_float(bits(result) | select(negative && odd, mask(0x80000000), 0));
    result = select(ax > inf_bits, x, ay > inf_bits, y, result);
    return select(ay == 0 || bits(x) == one, num(1), result);
}

}  // namespace halyard::math
