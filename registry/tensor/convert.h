// Conversion of one element between dtypes.
//   To bool: v != 0 (NaN is true).
//   Float to integer: truncation towards zero, then modulo the width. NaN and values out of int64's
//   range become the smallest int64 first.
//   To a 16-bit float: one rounding to nearest even, also from double and from integers up to 2^53.
#pragma once
#include <bit>
#include <limits>
#include <type_traits>

#include "registry/tensor/dtype.h"

namespace halyard {

// Rounds to odd: the result, rounded again to a shorter float, is `v` rounded to that float once.
inline float round_to_odd(double v) {
    const float f = float(v);
    const uint32_t bits = std::bit_cast<uint32_t>(f);
    if (v != v || double(f) == v || (bits & 1)) return f;
    const double magnitude = v < 0 ? -v : v;
    const double rounded = v < 0 ? -double(f) : double(f);
    return std::bit_cast<float>(rounded > magnitude ? bits - 1 : bits + 1);
}

template<class To, class From> inline To convert(From v) {
    constexpr bool from_half = std::is_same_v<From, float16> || std::is_same_v<From, bfloat16>;
    constexpr bool to_half = std::is_same_v<To, float16> || std::is_same_v<To, bfloat16>;
    if constexpr (std::is_same_v<To, From>)
        return v;
    else if constexpr (from_half)
        return convert<To>(float(v));
    else if constexpr (std::is_same_v<To, bool>)
        return v != 0;
    else if constexpr (to_half) {
        if constexpr (std::is_same_v<From, float> || sizeof(From) == 1)
            return To(float(v));
        else
            return To(round_to_odd(double(v)));
    } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
        const bool fits = v >= (From)-0x1p63 && v < (From)0x1p63;
        return (To)(fits ? int64_t(v) : std::numeric_limits<int64_t>::min());
    } else
        return (To)v;
}

}  // namespace halyard
