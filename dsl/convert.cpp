#include "dsl/convert.h"

#include <cmath>
#include <limits>

namespace halyard {
using namespace Halide;

namespace {

Expr constant(const Expr &like, double v) {
    return Internal::FloatImm::make(like.type(), v);
}
Expr constant(const Expr &like, int64_t v) {
    return Internal::make_const(like.type(), v);
}

// Compares bits: LLVM folds is_nan() of an f16, which is converted for it, to false.
Expr is_nan_by_bits(const Expr &x) {
    const Type bits = x.type().with_code(Type::UInt);
    const double infinity = std::numeric_limits<double>::infinity();
    const Expr magnitude = reinterpret(bits, x) & (bits.max() >> 1);
    return magnitude > reinterpret(bits, constant(x, infinity));
}

Expr float_to_integer(const Expr &x, const Type &to) {
    const double high = std::ldexp(1.0, to.bits() - (to.is_uint() ? 0 : 1));
    const double low = to.is_uint() ? 0 : -high;
    const Expr nan = is_nan_by_bits(x);
    // Small integers are converted by way of i32, which every vector unit has. Both limits are
    // exact.
    if (to.bits() < 31) {
        const Expr clamped = min(max(x, constant(x, low)), constant(x, high - 1));
        return select(nan, Internal::make_const(to, 0), cast(to, cast(Int(32), clamped)));
    }
    const Expr above = !nan && x >= constant(x, high);
    const Expr below = !nan && x <= constant(x, low);
    const Expr in_range = select(above || below || nan, constant(x, 0.0), x);
    return select(above, to.max(), below, to.min(), cast(to, in_range));
}

// Returns a double as a float, rounded to odd: the last bit is set if the conversion is inexact.
// Rounding this float to 16 bits gives the same as rounding the double.
Expr round_to_odd_float(const Expr &x) {
    const Expr f = cast(Float(32), x);
    const Expr error = x - cast(Float(64), f);
    const Expr bits = reinterpret(UInt(32), f);
    const Expr zero = constant(error, 0.0);
    const Expr more = strict_float(error > zero);
    const Expr less = strict_float(error < zero);
    const Expr is_away = (more && (bits >> 31) == 0) || (less && (bits >> 31) != 0);
    const Expr odd = select((bits & 1) != 0, bits, select(is_away, bits + 1, bits - 1));
    return select(more || less, reinterpret(Float(32), odd), f);
}

// Returns an integer as a double. Beyond 2^52 the bits below 2^12 are replaced by one sticky bit,
// so that rounding the double to 16 bits gives the same as rounding the integer.
Expr sticky_double(const Expr &x) {
    if (x.type().bits() <= 32) return cast(Float(64), x);
    const int64_t limit = int64_t(1) << 52;
    const Expr small = x < constant(x, limit) && x > constant(x, -limit);
    const Expr low_bits = x & constant(x, int64_t(0xfff));
    const Expr sticky = (x & constant(x, ~int64_t(0xfff))) |
                        select(low_bits != constant(x, int64_t(0)), constant(x, int64_t(0x800)),
                               constant(x, int64_t(0)));
    return cast(Float(64), select(small, x, sticky));
}

}  // namespace

Expr converted(const Expr &v, const Type &to, bool f16_by_halide) {
    const Type from = v.type();
    if (from == to) return v;
    if (f16_by_halide && to == Float(16) && from.is_float()) {
        const Type bits = UInt(16);
        // For f32 the bits are compared: LLVM folds is_nan() of a sum to false.
        const Type word = UInt(32);
        const Expr nan = from.bits() == 32
                             ? (reinterpret(word, v) & Internal::make_const(word, 0x7fffffff)) >
                                   Internal::make_const(word, 0x7f800000)
                             : is_nan(v);
        return reinterpret(to, select(nan, Internal::make_const(bits, 0x7e00),
                                      reinterpret(bits, converted(v, to))));
    }
    if (from.is_float() && to.is_int_or_uint() && !to.is_bool()) return float_to_integer(v, to);
    const bool narrow = to.is_float() && to.bits() == 16;
    if (narrow && from.is_float() && from.bits() == 64) return cast(to, round_to_odd_float(v));
    if (narrow && from.is_int_or_uint() && from.bits() >= 32)
        return cast(to, round_to_odd_float(sticky_double(v)));
    if (narrow && from.is_int_or_uint()) return cast(to, cast(Float(32), v));
    return cast(to, v);
}

}  // namespace halyard
