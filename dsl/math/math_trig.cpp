// sin, cos and tan, which are accurate for every finite x, and their inverse functions.
#include "dsl/math/math_detail.h"

namespace halyard::math {
using namespace Halide;
namespace {

// Reduces |x| = (quadrant + 4 k) pi/2 + r, |r| <= pi/4, k any integer, for 1 <= |x| < infinity, by
// the method of Payne and Hanek. Let |x| = m 2^(e-23) with m of 24 bits. Then m 2^(e-23) 2/pi
// modulo 4 depends only on the 96 bits of 2/pi from weight 2^(24-e) on. They are selected and
// multiplied as 32-bit integers. Selects replace a table of 2/pi, so no backend needs a lookup.
struct Angle {
    Expr quadrant, r;
};
Angle reduce(const Expr &x) {
    // The bits of 2^-25 2/pi.
    const uint32_t two_over_pi[7] = {0x00000051, 0x7cc1b727, 0x220a94fe, 0x13abe8fa,
                                     0x9a6ee06d, 0xb14acc9e, 0x21c820ff};
    Expr b = unsigned_bits(abs_bits(x));
    Expr e = (b >> word(23)) - word(127);
    Expr m = (b & word(0x007fffff)) | word(0x00800000);
    Expr skip2 = (e & word(64)) != word(0);
    Expr skip1 = (e & word(32)) != word(0);
    Expr shift = e & word(31);
    Expr five[5], four[4], window[3];
    for (int i = 0; i < 5; i++)
        five[i] = select(skip2, word(two_over_pi[i + 2]), word(two_over_pi[i]));
    for (int i = 0; i < 4; i++)
        four[i] = select(skip1, five[i + 1], five[i]);
    for (int i = 0; i < 3; i++)
        window[i] = (four[i] << shift) | ((four[i + 1] >> word(1)) >> (word(31) - shift));
    auto product_high = [&](const Expr &w) {
        return cast(UInt(32),
                    (cast(UInt(64), m) * cast(UInt(64), w)) >> Internal::make_const(UInt(64), 32));
    };
    Expr middle = m * window[1];
    Expr bottom = middle + product_high(window[2]);
    Expr top = m * window[0] + product_high(window[1]) + select(bottom < middle, word(1), word(0));
    // top:bottom is |x| / (pi/2) modulo 4, with 2 bits before the point. The signed fraction is
    // divided into 12, 18 and 32 bits. The first 12 bits times the first 12 bits of pi/2 are exact,
    // so r is rounded once, even if it is small.
    Expr quadrant = (top + word(0x20000000)) >> word(30);
    Expr fraction = reinterpret(Int(32), top - (quadrant << word(30)));
    Expr h = (fraction + (1 << 17)) >> 18;
    Expr next = fraction - (h << 18) + reinterpret(Int(32), bottom >> word(31));
    auto real = [](const Expr &v) { return cast(Float(32), reinterpret(Int(32), v)); };
    const double half_pi = 1.5707963267948966;
    Expr first = real(h);
    Expr low = first * num(-0x1.2aeef4b9ee59ep-30) +
               (real(next) * num(half_pi * 0x1p-30) + real(bottom) * num(half_pi * 0x1p-62));
    return {reinterpret(Int(32), quadrant), plus(times(first, num(0x1.922p-12)), low)};
}

// Returns sin and cos of the reduced |x|, |r| <= 1.
struct SinCos {
    Expr quadrant, sine, cosine;
};
SinCos sin_cos(const Expr &x) {
    Angle a = reduce(x);
    Expr small = abs_bits(x) < bits_of(1.0f);
    Expr q = select(small, 0, a.quadrant);
    Expr r = select(small, magnitude(x), a.r);
    Expr z = r * r;
    Expr sine = plus(
        r, r * z * poly(z, {-0.166666672, 0.00833331607, -0.000198361158, 2.69481029e-06}));
    Expr cosine = plus(num(1), z * z * poly(z, {0.0416665748, -0.00138846762, 2.42003589e-05}) -
                                   num(0.5) * z);
    return {q, sine, cosine};
}
Expr not_finite(const Expr &x) {
    return abs_bits(x) >= 0x7f800000;
}
// Returns y, negated if bit 0 of `odd` is set, and negated again if x is negative.
Expr signed_by(const Expr &y, const Expr &odd) {
    return reinterpret(Float(32), unsigned_bits(bits(y)) ^ (unsigned_bits(odd) << word(31)));
}
Expr signed_by(const Expr &y, const Expr &odd, const Expr &x) {
    return as_float(bits(signed_by(y, odd)) ^ sign_bit(x));
}

// Returns asin(x) - x = x z P(z), z = x^2 <= 1/4.
Expr asin_tail(const Expr &x, const Expr &z) {
    return x * z * poly(z, {0.166667536, 0.0749525204, 0.0454760417, 0.0241520908, 0.042211812});
}

constexpr double half_pi = 1.5707963705062866, half_pi_low = -4.37113883e-8;

// Returns atan(y / x) for y, x >= 0.
Expr atan_quadrant(const Expr &y, const Expr &x) {
    Expr steep = bits(y) > bits(x);
    Expr n = select(steep, x, y);
    Expr d = select(steep, y, x);
    Expr q = select(bits(d) == 0, num(0), bits(n) == 0x7f800000, num(1), over(n, d));
    Expr z = q * q;
    Expr t = q * z *
             poly(z, {-0.333331674, 0.199941471, -0.142142847, 0.106792234, -0.0758115873,
                      0.043560192, -0.0165851824, 0.00297557237});
    Expr a = plus(q, t);
    return select(steep, plus(num(half_pi), num(half_pi_low) - a), a);
}

}  // namespace

Expr sin_f32(const Expr &x) {
    SinCos s = sin_cos(x);
    Expr y = signed_by(select((s.quadrant & 1) != 0, s.cosine, s.sine), s.quadrant >> 1, x);
    return select(not_finite(x), nan(), abs_bits(x) < bits_of(0x1p-13f), x, y);
}

Expr cos_f32(const Expr &x) {
    SinCos s = sin_cos(x);
    Expr y = signed_by(select((s.quadrant & 1) != 0, s.sine, s.cosine), (s.quadrant + 1) >> 1);
    return select(not_finite(x), nan(), y);
}

Expr tan_f32(const Expr &x) {
    SinCos s = sin_cos(x);
    Expr odd = (s.quadrant & 1) != 0;
    Expr y = signed_by(over(select(odd, s.cosine, s.sine), select(odd, s.sine, s.cosine)),
                       s.quadrant, x);
    return select(not_finite(x), nan(), abs_bits(x) < bits_of(0x1p-13f), x, y);
}

// For |x| > 1/2, asin(|x|) = pi/2 - 2 asin(sqrt((1 - |x|) / 2)).
Expr asin_f32(const Expr &x) {
    Expr a = magnitude(x);
    Expr big = abs_bits(x) > bits_of(0.5f);
    Expr z = select(big, times(num(0.5), minus(num(1), a)), times(a, a));
    Expr s = select(big, sqrt(max(z, num(0))), a);
    Expr t = plus(s, asin_tail(s, z));
    Expr y = select(big, plus(num(half_pi), num(half_pi_low) - num(2) * t), t);
    y = select(abs_bits(x) > bits_of(1.0f), nan(), with_sign(y, sign_bit(x)));
    return select(nan_or_below(x, 0x1p-13f), x, y);
}

Expr acos_f32(const Expr &x) {
    Expr a = magnitude(x);
    Expr big = abs_bits(x) > bits_of(0.5f);
    Expr left = bits(x) < 0;
    Expr z = select(big, times(num(0.5), minus(num(1), a)), times(a, a));
    Expr s = select(big, sqrt(max(z, num(0))), x);
    Expr t = asin_tail(s, z);
    Expr twice = num(2) * plus(s, t);
    Expr far = select(left, plus(num(2 * half_pi), num(2 * half_pi_low) - twice), twice);
    Expr y = select(big, far, plus(num(half_pi), (num(half_pi_low) - t) - s));
    return select(abs_bits(x) > bits_of(1.0f), nan(), y);
}

Expr atan_f32(const Expr &x) {
    Expr y = with_sign(atan_quadrant(magnitude(x), num(1)), sign_bit(x));
    return select(is_nan(x), x, y);
}

Expr atan2_f32(const Expr &y, const Expr &x) {
    Expr a = atan_quadrant(magnitude(y), magnitude(x));
    a = with_sign(select(bits(x) < 0, plus(num(2 * half_pi), num(2 * half_pi_low) - a), a),
                  sign_bit(y));
    return select(is_nan(x), x, is_nan(y), y, a);
}

}  // namespace halyard::math
