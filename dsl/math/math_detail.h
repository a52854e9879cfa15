// Building blocks shared by dsl/math_*.cpp. Everything here is Float(32).
//
// Halide compiles floats with fast-math flags, so three habits run through these files:
// - where the order of operations is the algorithm, operations are strict (plus, minus, ...);
// polynomials stay
//   fast, so that they contract to fused multiply-adds where the target has them;
// - special cases are decided on the bits, by integer comparison: comparing NaN with fast-math is
// undefined;
// - no product is assumed fused or not: exact products come from operands cut short (upper12),
// never from an FMA.
#pragma once
#include <limits>
#include <vector>

#include "Halide.h"

namespace halyard::math {

using Halide::Expr;

inline Expr num(double v) {
    return Halide::Internal::FloatImm::make(Halide::Float(32), v);
}
inline Expr inf() {
    return num(std::numeric_limits<double>::infinity());
}
inline Expr nan() {
    return Halide::reinterpret(Halide::Float(32), Expr(0x7fc00000));
}

inline Expr strict(Halide::Internal::Call::IntrinsicOp op, const Expr &a, const Expr &b) {
    return Halide::Internal::Call::make(a.type(), op, {a, b},
                                        Halide::Internal::Call::PureIntrinsic);
}
inline Expr plus(const Expr &a, const Expr &b) {
    return strict(Halide::Internal::Call::strict_add, a, b);
}
inline Expr minus(const Expr &a, const Expr &b) {
    return strict(Halide::Internal::Call::strict_sub, a, b);
}
inline Expr times(const Expr &a, const Expr &b) {
    return strict(Halide::Internal::Call::strict_mul, a, b);
}
inline Expr over(const Expr &a, const Expr &b) {
    return strict(Halide::Internal::Call::strict_div, a, b);
}

inline Expr less(const Expr &a, const Expr &b) {  // false for NaN
    return Halide::Internal::Call::make(Halide::Bool(a.type().lanes()),
                                        Halide::Internal::Call::strict_lt, {a, b},
                                        Halide::Internal::Call::PureIntrinsic);
}

inline Expr bits(const Expr &x) {
    return Halide::reinterpret(Halide::Int(32), x);
}
inline Expr as_float(const Expr &b) {
    return Halide::reinterpret(Halide::Float(32), b);
}
inline Expr mask(uint32_t m) {
    return Expr(int32_t(m));
}
inline Expr word(uint32_t v) {
    return Halide::Internal::make_const(Halide::UInt(32), v);
}
inline Expr unsigned_bits(const Expr &b) {
    return Halide::reinterpret(Halide::UInt(32), b);
}
inline Expr abs_bits(const Expr &x) {
    return bits(x) & mask(0x7fffffff);
}
inline Expr magnitude(const Expr &x) {
    return as_float(abs_bits(x));
}
inline Expr sign_bit(const Expr &x) {
    return bits(x) & mask(0x80000000);
}
// y >= 0
inline Expr with_sign(const Expr &y, const Expr &sign) {
    return as_float(bits(y) | sign);
}
int32_t bits_of(float v);

// NaN, or |x| < limit: the x for which f(x) = x is already right.
Expr nan_or_below(const Expr &x, float limit);

// c[0] + c[1] x + c[2] x^2 + ...
Expr poly(const Expr &x, const std::vector<double> &c);
// min(max(x, lo), hi); NaN gives any value between.
Expr clamped(const Expr &x, double lo, double hi);
// min(x, hi) and max(x, lo); NaN stays.
Expr held_below(const Expr &x, double hi);
Expr held_above(const Expr &x, double lo);
// 2^(n-127), 1 <= n <= 254; n = 0 gives 0. Unsigned, since a signed shift may not overflow in
// Halide.
inline Expr from_exponent(const Expr &n) {
    return Halide::reinterpret(Halide::Float(32), unsigned_bits(n) << word(23));
}
// 2^n, -126 <= n <= 127.
Expr exp2i(const Expr &n);
// p 2^n, p and the result normal: an addition to the exponent.
Expr shifted(const Expr &p, const Expr &n);
// p 2^n with one rounding, -240 <= n <= 240, p in [1/2, 4).
Expr scaled(const Expr &p, const Expr &n);
// The nearest integer, |x| < 2^22: as a float, and as an int.
struct Rounded {
    Expr real, whole;
};
Rounded nearest(const Expr &x);
// The same, the int as n + bias in the low 9 bits of `bits`; power_of_bits drops those above. 0 <=
// bias < 2^20.
struct Shifted {
    Expr real, bits;
};
Shifted nearest(const Expr &x, int bias);
// 2^(t mod 512 - 127), 1 <= t mod 512 <= 254; t mod 512 = 0 gives 0
Expr power_of_bits(const Expr &t);

// An unevaluated sum, |low| <= ulp(high).
struct Two {
    Expr high, low;
};
Two exact_product(const Expr &a, const Expr &b);
Two quick_sum(const Expr &a, const Expr &b);  // |a| >= |b|
Expr upper12(const Expr &x);                  // the leading 12 bits of the significand

// e^x = 2^n (1 + p), |p| <= 0.5, for x + low, |x| <= 150, |low| <= 0.06. Given a bias, n is for
// power_of_bits: n + bias in its low bits.
struct Power {
    Expr n, p;
};
Power natural_power(const Expr &x, const Expr &low = Expr(), int bias = 0);
// log(1 + x) for x > -1, finite; x itself where |x| < 2^-25.
Expr log1p_finite(const Expr &x);

Expr exp_f32(const Expr &x);
Expr exp_nonpositive_f32(const Expr &x);
Expr exp2_f32(const Expr &x);
Expr expm1_f32(const Expr &x);
Expr sinh_f32(const Expr &x);
Expr cosh_f32(const Expr &x);
Expr tanh_f32(const Expr &x);
Expr sigmoid_f32(const Expr &x);
Expr silu_f32(const Expr &x);
Expr mish_f32(const Expr &x);
Expr softplus_f32(const Expr &x);
Expr logsigmoid_f32(const Expr &x);
Expr gelu_tanh_f32(const Expr &x);
Expr fast_gelu_f32(const Expr &x);

Expr log_f32(const Expr &x);
Expr log2_f32(const Expr &x);
Expr log10_f32(const Expr &x);
Expr log1p_f32(const Expr &x);
Expr asinh_f32(const Expr &x);
Expr acosh_f32(const Expr &x);
Expr atanh_f32(const Expr &x);
Expr pow_f32(const Expr &x, const Expr &y);

Expr sin_f32(const Expr &x);
Expr cos_f32(const Expr &x);
Expr tan_f32(const Expr &x);
Expr asin_f32(const Expr &x);
Expr acos_f32(const Expr &x);
Expr atan_f32(const Expr &x);
Expr atan2_f32(const Expr &y, const Expr &x);

Expr erf_f32(const Expr &x);
Expr erfc_f32(const Expr &x);
Expr gelu_f32(const Expr &x);
Expr gaussian_f32(const Expr &x);
Expr exp_minus_square_f32(const Expr &x);
Expr rsqrt_f32(const Expr &x);

}  // namespace halyard::math
