// sin, cos, tan for every finite x, and the inverse functions.
#include "dsl/math_detail.h"

namespace halyard::math {
using namespace Halide;
namespace {

// x = (quadrant + 4 k) pi/2 + high + low, |high| <= pi/4; k any integer.
struct Angle {
    Expr quadrant, high, low;
};

// |x| < 512: pi/2 in four parts, the first three short enough that n (9 bits) times them is exact (Cody and Waite).
Angle reduce_near(const Expr &x) {
    Rounded n = nearest(x * num(0.6366197723675814));
    Expr a = minus(minus(x, times(n.real, num(0x1.92p+0))), times(n.real, num(0x1.fb4p-12)));
    Expr c = times(n.real, num(0x1.444p-24)), high = minus(a, c);
    Expr low = minus(minus(minus(a, high), c), times(n.real, num(2.5633440682570896e-12)));
    return {n.whole, high, low};
}

// |x| >= 512: x = m 2^(e-23), and (m times 2/pi) modulo 4 needs only the 96 bits of 2/pi from weight 2^(24-e) on
// (Payne and Hanek), here in 32-bit integers, 64-bit products, and selects instead of a table.
Angle reduce_far(const Expr &x) {
    const uint32_t two_over_pi[7] = {0x0000a2f9, 0x836e4e44, 0x1529fc27, 0x57d1f534, 0xddc0db62, 0x95993c43, 0x9041fe51};
    Expr b = unsigned_bits(abs_bits(x));
    Expr m = (b & word(0x007fffff)) | word(0x00800000);
    Expr position = max(b >> 23, word(136)) - word(136);  // of the first bit, after 16 zeros
    Expr skip2 = (position & word(64)) != word(0), skip1 = (position & word(32)) != word(0), shift = position & word(31);
    Expr five[5], four[4], window[3];
    for (int i = 0; i < 5; i++) five[i] = select(skip2, word(two_over_pi[i + 2]), word(two_over_pi[i]));
    for (int i = 0; i < 4; i++) four[i] = select(skip1, five[i + 1], five[i]);
    for (int i = 0; i < 3; i++) window[i] = (four[i] << shift) | ((four[i + 1] >> word(1)) >> (word(31) - shift));
    auto wide = [](const Expr &v) { return cast(UInt(64), v); };
    Expr sum = wide(m) * wide(window[1]) + ((wide(m) * wide(window[2])) >> Internal::make_const(UInt(64), 32));
    Expr top = cast(UInt(32), sum >> Internal::make_const(UInt(64), 32)) + m * window[0], bottom = cast(UInt(32), sum);
    // top:bottom = turns of pi/2, 2 bits before the point; the fraction goes to [-1/2, 1/2) and to its magnitude
    Expr quadrant = (top + word(0x20000000)) >> word(30);
    Expr first = (top << word(2)) | (bottom >> word(30)), second = bottom << word(2);
    Expr sign = reinterpret(Int(32), first) >> 31, flip = unsigned_bits(sign);
    first = first ^ flip, second = second ^ flip;
    auto real = [](const Expr &v) { return cast(Float(32), reinterpret(Int(32), v)); };
    Expr h = real(first & word(0xffffff00)) * num(0x1p-32);
    Expr l = real(((first & word(0xff)) << word(23)) | (second >> word(9))) * num(0x1p-55);
    Two f = quick_sum(h, l), product = exact_product(f.high, num(0x1.921fb6p+0));
    Two r = quick_sum(product.high, plus(product.low, f.low * num(0x1.921fb6p+0) - f.high * num(4.37113883e-8)));
    Expr negative = (bits(x) ^ sign) & mask(0x80000000);
    Expr q = reinterpret(Int(32), quadrant);
    return {select(bits(x) < 0, -q, q), as_float(bits(r.high) ^ negative), as_float(bits(r.low) ^ negative)};
}

struct Waves {
    Expr quadrant, sine, cosine;  // of the reduced angle
};
Waves waves(const Expr &x) {
    Expr far = abs_bits(x) >= 0x44000000;
    Angle near_zero = reduce_near(as_float(select(far, 0, bits(x)))), beyond = reduce_far(x);
    Expr q = select(far, beyond.quadrant, near_zero.quadrant), r = select(far, beyond.high, near_zero.high);
    Expr low = select(far, beyond.low, near_zero.low), z = r * r;
    Expr sine = plus(r, low + r * z * poly(z, {-0.166666552, 0.00833219104, -0.000195186047}));
    Expr cosine = plus(num(1), (z * z * poly(z, {0.0416666456, -0.00138873013, 2.44306921e-05}) - r * low) - num(0.5) * z);
    return {q, sine, cosine};
}
Expr not_finite(const Expr &x) { return abs_bits(x) >= 0x7f800000; }
Expr negated_if(const Expr &y, const Expr &bit) { return as_float(reinterpret(Int(32), unsigned_bits(bits(y)) ^ (unsigned_bits(bit) << word(31)))); }  // bit 0 of `bit`

// asin(x) = x + x z P(z), z = x^2 <= 1/4: the part after x
Expr asin_tail(const Expr &x, const Expr &z) { return x * z * poly(z, {0.166667536, 0.0749525204, 0.0454760417, 0.0241520908, 0.042211812}); }

constexpr double half_pi = 1.5707963705062866, half_pi_low = -4.37113883e-8;

// atan(y / x) for y, x >= 0
Expr atan_quadrant(const Expr &y, const Expr &x) {
    Expr steep = bits(y) > bits(x), n = select(steep, x, y), d = select(steep, y, x);
    Expr q = select(bits(d) == 0, num(0), bits(n) == 0x7f800000, num(1), over(n, d)), z = q * q;
    Expr t = q * z * poly(z, {-0.333331674, 0.199941471, -0.142142847, 0.106792234, -0.0758115873, 0.043560192, -0.0165851824, 0.00297557237});
    Expr a = plus(q, t);
    return select(steep, plus(num(half_pi), num(half_pi_low) - a), a);
}

}  // namespace

Expr sin_f32(const Expr &x) {
    Waves w = waves(x);
    Expr y = negated_if(select((w.quadrant & 1) != 0, w.cosine, w.sine), w.quadrant >> 1);
    return select(not_finite(x), nan(), abs_bits(x) < bits_of(0x1p-13f), x, y);
}

Expr cos_f32(const Expr &x) {
    Waves w = waves(x);
    Expr y = negated_if(select((w.quadrant & 1) != 0, w.sine, w.cosine), (w.quadrant + 1) >> 1);
    return select(not_finite(x), nan(), y);
}

Expr tan_f32(const Expr &x) {
    Waves w = waves(x);
    Expr odd = (w.quadrant & 1) != 0;
    Expr y = negated_if(over(select(odd, w.cosine, w.sine), select(odd, w.sine, w.cosine)), w.quadrant);
    return select(not_finite(x), nan(), abs_bits(x) < bits_of(0x1p-13f), x, y);
}

Expr asin_f32(const Expr &x) {  // |x| > 1/2: pi/2 - 2 asin(sqrt((1 - |x|) / 2))
    Expr a = magnitude(x), big = abs_bits(x) > bits_of(0.5f);
    Expr z = select(big, times(num(0.5), minus(num(1), a)), times(a, a)), s = select(big, sqrt(max(z, num(0))), a);
    Expr t = plus(s, asin_tail(s, z));
    Expr y = select(big, plus(num(half_pi), num(half_pi_low) - num(2) * t), t);
    y = select(abs_bits(x) > bits_of(1.0f), nan(), with_sign(y, sign_bit(x)));
    return select(nan_or_below(x, 0x1p-13f), x, y);
}

Expr acos_f32(const Expr &x) {
    Expr a = magnitude(x), big = abs_bits(x) > bits_of(0.5f), left = bits(x) < 0;
    Expr z = select(big, times(num(0.5), minus(num(1), a)), times(a, a)), s = select(big, sqrt(max(z, num(0))), x);
    Expr t = asin_tail(s, z), twice = num(2) * plus(s, t);
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
    a = with_sign(select(bits(x) < 0, plus(num(2 * half_pi), num(2 * half_pi_low) - a), a), sign_bit(y));
    return select(is_nan(x), x, is_nan(y), y, a);
}

}  // namespace halyard::math
