#include "dsl/math/math_detail.h"

#include <bit>

namespace halyard::math {
using namespace Halide;

constexpr float whole_bits = 12582912.0f;

int32_t bits_of(float v) {
    return std::bit_cast<int32_t>(v);
}

// one unsigned comparison: the range left out is [limit, inf]
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

Expr held_below(const Expr &x, double hi) {
    return select(less(num(hi), x), num(hi), x);
}
Expr held_above(const Expr &x, double lo) {
    return select(less(x, num(lo)), num(lo), x);
}

Expr clamped(const Expr &x, double lo, double hi) {
    return min(max(x, num(lo)), num(hi));
}

Expr exp2i(const Expr &n) {
    return from_exponent(n + 127);
}

Expr shifted(const Expr &p, const Expr &n) {
    return reinterpret(Float(32), unsigned_bits(bits(p)) + (unsigned_bits(n) << word(23)));
}

Expr scaled(const Expr &p, const Expr &n) {
    Expr half = n >> 1;
    return times(shifted(p, half), exp2i(n - half));
}

Rounded nearest(const Expr &x) {
    auto [real, t] = nearest(x, 0);
    return {real, t - bits_of(whole_bits)};
}
Shifted nearest(const Expr &x, int bias) {  // adding 1.5 * 2^23 leaves the integer in the low bits
    Expr t = x + num(whole_bits + float(bias));
    return {minus(t, num(whole_bits + float(bias))), bits(t)};
}
Expr power_of_bits(const Expr &t) {
    return reinterpret(Float(32), unsigned_bits(t) << word(23));
}

Expr upper12(const Expr &x) {
    return as_float(bits(x) & mask(0xfffff000));
}

Two exact_product(const Expr &a, const Expr &b) {  // Dekker; the four partial products are exact
    Expr ah = upper12(a);
    Expr al = minus(a, ah);
    Expr bh = upper12(b);
    Expr bl = minus(b, bh);
    Expr p = times(a, b);
    Expr low = plus(plus(plus(minus(times(ah, bh), p), times(ah, bl)), times(al, bh)),
                    times(al, bl));
    return {p, low};
}

Two quick_sum(const Expr &a, const Expr &b) {
    Expr s = plus(a, b);
    return {s, minus(b, minus(s, a))};
}

}  // namespace halyard::math
