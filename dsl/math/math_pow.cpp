// Powers. x^y is 2^(y log2 |x|), where log2 and the product are double-floats: y multiplies the
// error of the logarithm by up to 128.
#include "dsl/math/math_detail.h"

namespace halyard::math {
using namespace Halide;
namespace {

constexpr int32_t sqrt_half = 0x3f3504f3;

// Returns a + b for |a| >= |b|.
DoubleFloat sum(const DoubleFloat &a, const DoubleFloat &b) {
    DoubleFloat s = fast_two_sum(a.high, b.high);
    return fast_two_sum(s.high, plus(s.low, plus(a.low, b.low)));
}

// Returns log2(x) = e + 2 log2(e) atanh(s), s = f / (2 + f), for finite x > 0.
DoubleFloat log2_double_float(const Expr &x0) {
    Expr tiny = bits(x0) < 0x00800000;
    Expr b = bits(select(tiny, x0 * num(0x1p23), x0)) - sqrt_half;
    Expr e = cast(Float(32), (b >> 23) - select(tiny, 23, 0));
    Expr f = minus(as_float((b & mask(0x7fffff)) + sqrt_half), num(1));
    DoubleFloat d = fast_two_sum(num(2), f);
    Expr s = over(f, d.high);
    DoubleFloat back = two_product(s, d.high);
    Expr s_low = over(minus(minus(minus(f, back.high), back.low), s * d.low), d.high);
    // 2 log2(e) = 2.885390043258667 + 3.85192607e-8
    DoubleFloat first = two_product(s, num(2.885390043258667));
    // The next coefficient is 0.96 = 1 - 0.04, so that s^3, whose error y multiplies, is rounded
    // once less.
    Expr z = times(s, s);
    Expr cube = times(s, z);
    Expr remainder = poly(z, {0.961796701 - 1, 0.577078879, 0.411921203, 0.336635947});
    first.low = plus(first.low, s * num(3.85192607e-8) +
                                    s_low * (num(2.885390043258667) + num(2.885390043258667) * z));
    DoubleFloat fraction = sum(first, {cube, cube * remainder});
    // |e| >= |fraction|, or e = 0 and the sum is exact as well.
    return sum({e, num(0)}, fraction);
}

}  // namespace

// Computes sqrt(1 / x): the root halves the relative error of the division. x is scaled so that 1 /
// x neither overflows nor is subnormal.
Expr rsqrt_f32(const Expr &x) {
    Expr tiny = bits(x) < 0x00800000;
    Expr huge = bits(x) > 0x7e000000;
    Expr y = sqrt(over(num(1), times(x, select(tiny, num(0x1p24), huge, num(0x1p-24), num(1)))));
    y = times(y, select(tiny, num(0x1p12), huge, num(0x1p-12), num(1)));
    y = select(bits(x) < 0, select(abs_bits(x) == 0, -inf(), nan()), abs_bits(x) == 0, inf(), y);
    return select(is_nan(x), x, bits(x) == 0x7f800000, num(0), y);
}

Expr pow_f32(const Expr &x, const Expr &y) {
    DoubleFloat l = log2_double_float(magnitude(x));
    DoubleFloat t = two_product(y, l.high);
    Expr outside = abs_bits(t.high) > bits_of(200.0f);
    Expr high = select(outside, as_float(sign_bit(t.high) | bits_of(200.0f)), t.high);
    Expr low = select(outside, num(0), plus(t.low, times(y, l.low)));
    Rounded n = nearest(high);
    Expr r = plus(minus(high, n.real), low);
    Expr p = plus(num(1), r * poly(r, {0.693147242, 0.240226552, 0.0555027239, 0.00961706508,
                                       0.00134181697, 0.000158197989}));
    Expr result = ldexp(p, n.integer);

    const int32_t inf_bits = 0x7f800000;
    const int32_t one = bits_of(1.0f);
    Expr ax = abs_bits(x);
    Expr ay = abs_bits(y);
    Expr grows = bits(y) >= 0;
    Expr zero_or_inf = ax == 0 || ax == inf_bits;
    result = select(zero_or_inf, select((ax == 0) == grows, num(0), inf()), result);
    // If y is infinite, the result depends on whether |x| is below or above 1.
    result = select(ay == inf_bits, select(ax == one, num(1), (ax > one) == grows, inf(), num(0)),
                    result);
    // |y| = significand 2^-point, so y is an integer if the lowest `point` bits are 0, and odd if
    // the bit above them is 1.
    Expr point = clamp(150 - (ay >> 23), 0, 31);
    Expr significand = (ay & mask(0x7fffff)) | mask(0x800000);
    Expr is_integer = ay == 0 || (ay >> 23) >= 150 ||
                      (point < 24 && (significand & ((Expr(1) << point) - 1)) == 0);
    Expr is_odd = (ay >> 23) <= 150 && point < 24 && is_integer &&
                  ((significand >> point) & 1) != 0;
    Expr negative = bits(x) < 0;
    result = select(negative && !is_integer && ax != 0 && ax != inf_bits, nan(), result);
    result = as_float(bits(result) | select(negative && is_odd, mask(0x80000000), 0));
    result = select(ax > inf_bits, x, ay > inf_bits, y, result);
    return select(ay == 0 || bits(x) == one, num(1), result);
}

}  // namespace halyard::math
