#include "dsl/math/math_detail.h"

#include <bit>

namespace halyard::math {
using namespace Halide;

// 1.5 * 2^23: adding it to a float leaves the nearest integer in the low bits.
constexpr float integer_shift = 12582912.0f;

int32_t bits_of(float v) {
    return std::bit_cast<int32_t>(v);
}

// One unsigned comparison excludes the range [limit, infinity].
Expr nan_or_below(const Expr &x, float limit) {
    const int32_t lo = bits_of(limit);
    const int32_t top = 0x7f800000;
    return unsigned_bits(abs_bits(x) - lo) > word(uint32_t(top - lo));
}

Expr poly(const Expr &x, const std::vector<double> &c) {
    Expr y = num(c.back());
    for (size_t i = c.size() - 1; i-- > 0;)
        y = y * x + num(c[i]);
    return y;
}

Expr min_or_nan(const Expr &x, double hi) {
    return select(less(num(hi), x), num(hi), x);
}
Expr max_or_nan(const Expr &x, double lo) {
    return select(less(x, num(lo)), num(lo), x);
}

Expr clamped(const Expr &x, double lo, double hi) {
    return min(max(x, num(lo)), num(hi));
}

Expr exp2i(const Expr &n) {
    return from_exponent(n + 127);
}

Expr scale_exponent(const Expr &p, const Expr &n) {
    return reinterpret(Float(32), unsigned_bits(bits(p)) + (unsigned_bits(n) << word(23)));
}

Expr ldexp(const Expr &p, const Expr &n) {
    Expr half = n >> 1;
    return times(scale_exponent(p, half), exp2i(n - half));
}

Rounded nearest(const Expr &x) {
    auto [real, t] = nearest(x, 0);
    return {real, t - bits_of(integer_shift)};
}
BiasedInteger nearest(const Expr &x, int bias) {
    Expr t = x + num(integer_shift + float(bias));
    return {minus(t, num(integer_shift + float(bias))), bits(t)};
}
Expr power_of_bits(const Expr &t) {
    return reinterpret(Float(32), unsigned_bits(t) << word(23));
}

Expr upper12(const Expr &x) {
    return as_float(bits(x) & mask(0xfffff000));
}

DoubleFloat two_product(const Expr &a, const Expr &b) {
    Expr ah = upper12(a);
    Expr al = minus(a, ah);
    Expr bh = upper12(b);
    Expr bl = minus(b, bh);
    Expr p = times(a, b);
    Expr low = plus(plus(plus(minus(times(ah, bh), p), times(ah, bl)), times(al, bh)),
                    times(al, bl));
    return {p, low};
}

DoubleFloat fast_two_sum(const Expr &a, const Expr &b) {
    Expr s = plus(a, b);
    return {s, minus(b, minus(s, a))};
}

}  // namespace halyard::math
