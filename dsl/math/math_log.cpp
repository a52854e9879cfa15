// Logarithms, and functions of them. The argument is reduced as x = 2^e (1 + f), 1 + f in
// [sqrt(1/2), sqrt 2).
#include "dsl/math/math_detail.h"

namespace halyard::math {
using namespace Halide;
namespace {

constexpr double ln2_high = 0.693359375, ln2_low = -2.12194440054690581e-4,
                 ln2 = 0.6931471805599453;
constexpr int32_t sqrt_half = 0x3f3504f3;

struct Reduced {
    Expr e, f;  // e is an integer, as a float
};
// Reduces a positive, finite x0.
Reduced reduce(const Expr &x0) {
    Expr tiny = bits(x0) < 0x00800000;
    Expr x = select(tiny, x0 * num(0x1p23), x0);
    Expr b = bits(x) - sqrt_half;
    Expr e = cast(Float(32), (b >> 23) - select(tiny, 23, 0));
    return {e, minus(as_float((b & mask(0x7fffff)) + sqrt_half), num(1))};
}
// Returns log(1 + f) - f.
Expr tail(const Expr &f) {
    Expr p = poly(f, {-0.5, 0.333333313, -0.250008225, 0.200012326, -0.166233316, 0.142016232,
                      -0.131603077, 0.127626404, -0.076355204});
    return f * f * p;
}
// Returns e ln2 + f + small.
Expr combine(const Expr &e, const Expr &f, const Expr &small) {
    return plus(e * num(ln2_high), plus(f, small + e * num(ln2_low)));
}
// Returns y for 0 < x < infinity, and the limits of the logarithm for other x.
Expr with_limits(const Expr &x, const Expr &y) {
    Expr special = unsigned_bits(bits(x)) - word(1) >= word(0x7f7fffff);
    return select(special, select(abs_bits(x) == 0, -inf(), bits(x) < 0, nan(), x), y);
}

}  // namespace

Expr log_f32(const Expr &x) {
    auto [e, f] = reduce(x);
    return with_limits(x, combine(e, f, tail(f)));
}

// log2(e) is 1 + 0.4426950, so that f itself is exact.
Expr log2_f32(const Expr &x) {
    auto [e, f] = reduce(x);
    Expr t = tail(f);
    return with_limits(
        x, plus(e, plus(f, f * num(0.44269504088896340) + t * num(1.4426950408889634))));
}

// log10(e) is 1/2 - 0.0657055, so that f / 2 is exact.
Expr log10_f32(const Expr &x) {
    auto [e, f] = reduce(x);
    Expr m = plus(f * num(0.5), f * num(-0.0657055180967482) + tail(f) * num(0.4342944819032518) +
                                    e * num(4.605038981195214e-6));
    return with_limits(x, plus(e * num(0.301025390625), m));
}

// 1 + x = 2^e (1 + f) with f = 2^-e x + (2^-e - 1). 2^-e is applied as 2^(2-e) / 4, because 2^(2-e)
// is normal for every e.
Expr log1p_finite(const Expr &x) {
    Expr b = bits(plus(num(1), x)) - sqrt_half;
    Expr s = reinterpret(Float(32), word(129u << 23) - (unsigned_bits(b) & word(0xff800000)));
    Expr f = plus(times(times(x, num(0.25)), s), minus(times(s, num(0.25)), num(1)));
    Expr e = cast(Float(32), b >> 23);
    return select(abs_bits(x) < bits_of(0x1p-25f), x, combine(e, f, tail(f)));
}

Expr log1p_f32(const Expr &x) {
    Expr y = log1p_finite(x);
    Expr limit = bits_of(-1.0f);
    Expr b = bits(x);
    y = select(unsigned_bits(b) >= word(0xbf800000), select(b == limit, -inf(), nan()), y);
    return select(b >= 0x7f800000, x, y);
}

// Computes log(1 + a + a^2 / (1 + sqrt(1 + a^2))), or log(2 a) for a >= 2^14, a = |x|.
Expr asinh_f32(const Expr &x) {
    Expr a = magnitude(x);
    Expr big = abs_bits(x) > bits_of(0x1p14f);
    Expr c = min(a, num(0x1p14));
    Expr z = times(c, c);
    Expr argument = select(big, minus(min(a, num(3.4028234e38)), num(1)),
                           plus(c, over(z, plus(num(1), sqrt(plus(num(1), z))))));
    Expr y = plus(log1p_finite(argument), select(big, num(ln2), num(0)));
    return select(nan_or_below(x, 0x1p-13f) || abs_bits(x) == 0x7f800000, x,
                  with_sign(y, sign_bit(x)));
}

// Computes log(1 + t + sqrt(2 t + t^2)), t = x - 1, or log(2 x) for x > 2^14.
Expr acosh_f32(const Expr &x) {
    Expr big = bits(x) > bits_of(0x1p14f);
    Expr t = minus(min(max(x, num(1)), num(3.4028234e38)), num(1));
    Expr c = min(t, num(0x1p14));
    Expr argument = select(big, t, plus(c, sqrt(plus(times(num(2), c), times(c, c)))));
    Expr y = plus(log1p_finite(argument), select(big, num(ln2), num(0)));
    y = select(bits(x) < bits_of(1.0f), nan(), y);
    return select(bits(x) >= 0x7f800000, x, y);
}

// Computes log(1 + 2 a / (1 - a)) / 2, a = |x|.
Expr atanh_f32(const Expr &x) {
    Expr ab = abs_bits(x);
    Expr a = min(magnitude(x), num(0.99999994));
    Expr y = times(num(0.5), log1p_finite(over(times(num(2), a), minus(num(1), a))));
    y = with_sign(select(ab == bits_of(1.0f), inf(), y), sign_bit(x));
    y = select(ab > bits_of(1.0f), nan(), y);
    return select(nan_or_below(x, 0x1p-13f), x, y);
}

}  // namespace halyard::math
