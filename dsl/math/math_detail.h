// Building blocks of dsl/math/math_*.cpp. Everything here is Float(32), but for the functions that
// end in _f64 and the strict operations, which take any type.
//
// Halide compiles float operations with fast-math flags. Therefore:
// - Where rounding errors matter, operations are strict: plus(), minus(), times(), over().
//   Polynomials are not strict, so that they contract to fused multiply-adds.
// - Special cases are found by integer comparisons of the bits, because a fast-math comparison of
// NaN
//   is undefined.
// - No product is assumed to be fused or not. Exact products are made from operands with few bits
//   (upper12()), not by a fused multiply-add.
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

// Returns a < b, which is false for NaN.
inline Expr less(const Expr &a, const Expr &b) {
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
// Returns y, which is not negative, with the given sign bit.
inline Expr with_sign(const Expr &y, const Expr &sign) {
    return as_float(bits(y) | sign);
}
int32_t bits_of(float v);

// Returns true for NaN and for |x| < limit: the x for which f(x) = x is exact enough.
Expr nan_or_below(const Expr &x, float limit);

// Returns c[0] + c[1] x + c[2] x^2 + ...
Expr poly(const Expr &x, const std::vector<double> &c);
// Returns min(max(x, lo), hi); for NaN, any value in between.
Expr clamped(const Expr &x, double lo, double hi);
// Return min(x, hi) and max(x, lo); for NaN, NaN.
Expr min_or_nan(const Expr &x, double hi);
Expr max_or_nan(const Expr &x, double lo);
// Returns 2^(n-127) for 1 <= n <= 254, and 0 for n = 0. The shift is unsigned, because a signed
// shift must not overflow in Halide.
inline Expr from_exponent(const Expr &n) {
    return Halide::reinterpret(Halide::Float(32), unsigned_bits(n) << word(23));
}
// Returns 2^n for -126 <= n <= 127.
Expr exp2i(const Expr &n);
// Returns p 2^n by an addition to the exponent; p and the result have to be normal.
Expr scale_exponent(const Expr &p, const Expr &n);
// Returns p 2^n, rounded once, for -240 <= n <= 240 and p in [1/2, 4).
Expr ldexp(const Expr &p, const Expr &n);
// Returns the integer nearest to x, for |x| < 2^22, as a float and as an int.
struct Rounded {
    Expr real, integer;
};
Rounded nearest(const Expr &x);
// Returns the integer n nearest to x as a float, and n + bias in the low 9 bits of `bits`, for 0 <=
// bias < 2^20. power_of_bits() ignores the higher bits.
struct BiasedInteger {
    Expr real, bits;
};
BiasedInteger nearest(const Expr &x, int bias);
// Returns 2^(t mod 512 - 127) for 1 <= t mod 512 <= 254, and 0 for t mod 512 = 0.
Expr power_of_bits(const Expr &t);

// DoubleFloat: the unevaluated sum of two floats, |low| <= ulp(high).
struct DoubleFloat {
    Expr high, low;
};
// Returns a b exactly (Dekker).
DoubleFloat two_product(const Expr &a, const Expr &b);
// Returns a + b exactly, for |a| >= |b|.
DoubleFloat fast_two_sum(const Expr &a, const Expr &b);
// Returns x truncated to the leading 12 bits of its significand.
Expr upper12(const Expr &x);

// Returns e^(x + low) as 2^n (1 + p), |p| <= 0.5, for |x| <= 150 and |low| <= 0.06. If `bias` is
// not 0, `n` has n + bias in its low bits, for power_of_bits().
struct Power {
    Expr n, p;
};
Power natural_power(const Expr &x, const Expr &low = Expr(), int bias = 0);
// Returns log(1 + x) for finite x > -1; x itself if |x| < 2^-25.
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

// math_f64.cpp. They are NaN at -infinity, where gelu is 0.
Expr gelu_f64(const Expr &x);
Expr gelu_tanh_f64(const Expr &x);
Expr fast_gelu_f64(const Expr &x);

}  // namespace halyard::math
