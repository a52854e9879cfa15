// vec_conv, in all rounding modes. Conversions to integers saturate.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ascend/simulator/memory.h"

namespace halyard::dv {
namespace {

// Returns the neighbours of v among the values of T; v itself twice if it is one of them.
template<class T> std::pair<double, double> neighbours(double v) {
    // It is rounded twice, so it may not be the nearest value, but it is next to v.
    const T near = T(float(v));
    const double at = double(float(near));
    if (at == v || !std::isfinite(v)) return {at, at};
    T other = near;
    // The next bit pattern is the next value away from zero.
    if (near.bits << 1 == 0)
        other.bits = uint16_t((v < 0 ? 0x8000 : 0) | 1);
    else
        other.bits = uint16_t(std::fabs(v) > std::fabs(at) ? near.bits + 1 : near.bits - 1);
    const double next = double(float(other));
    return {std::min(at, next), std::max(at, next)};
}

double rounded_to_integer(double v, Round mode) {
    switch (mode) {
    case Round::floor: return std::floor(v);
    case Round::ceil: return std::ceil(v);
    case Round::away: return std::round(v);
    case Round::truncate: return std::trunc(v);
    case Round::none:
    case Round::nearest_even: break;
    }
    return std::nearbyint(v);
}

// Rounds to 16 bits.
template<class T> T round_to_nearest(double v) {
    const T by_float = T(float(v));
    if (double(float(v)) == v || !std::isfinite(float(by_float))) return by_float;
    const auto [below, above] = neighbours<T>(v);
    if (v - below == above - v) return T(float(below)).bits % 2 ? T(float(above)) : T(float(below));
    return T(float(v - below < above - v ? below : above));
}
template<class T> T round_directed(double v, Round mode) {
    const auto [below, above] = neighbours<T>(v);
    if (mode == Round::ceil) return T(float(above));
    if (mode == Round::truncate) return T(float(v < 0 ? above : below));
    const bool up = mode == Round::away && below != above &&
                    (v - below > above - v || (v - below == above - v && v > 0));
    return T(float(up ? above : below));
}

template<class T> T round_to(double v, Round mode) {
    if constexpr (std::is_integral_v<T>) {
        v = rounded_to_integer(v, mode);
        if (std::isnan(v)) return 0;
        return (T)std::clamp(v, double(std::numeric_limits<T>::min()),
                             double(std::numeric_limits<T>::max()));
    } else if constexpr (std::is_same_v<T, float>) {
        return float(v);
    } else {
        const bool nearest = mode == Round::none || mode == Round::nearest_even;
        return nearest ? round_to_nearest<T>(v) : round_directed<T>(v, mode);
    }
}

template<class From, class To> void convert(const VecConv &v, const Step &s, Memory &m) {
    const StridedAccess d = access_of(s.locations[0], v.dst_blk, v.dst_rep);
    const StridedAccess a = access_of(s.locations[1], v.src_blk, v.src_rep);
    const int elements = repeat_elements(v);
    uint8_t *to = m.base(s.locations[0]);
    const uint8_t *from = m.base(s.locations[1]);
    const auto one = [&](int64_t r, int e) {
        const double x = double(*reinterpret_cast<const From *>(from + a.element(r, e)));
        *reinterpret_cast<To *>(to + d.element(r, e)) = round_to<To>(x * v.scale, v.round);
    };
    for (int64_t r = 0; r < v.repeat.value(); r++) {
        if (!v.mask.bits) {
            const int count = int(v.mask.count.value());
            for (int e = 0; e < count; e++)
                one(r, e);
        } else {
            for (int e = 0; e < elements; e++)
                if (active(v.mask, e)) one(r, e);
        }
    }
}

template<class From> void convert_from(const VecConv &v, const Step &s, Memory &m) {
    switch (s.locations[0].dtype) {
    case DType::f16: return convert<From, float16>(v, s, m);
    case DType::bf16: return convert<From, bfloat16>(v, s, m);
    case DType::f32: return convert<From, float>(v, s, m);
    case DType::i32: return convert<From, int32_t>(v, s, m);
    case DType::i8: return convert<From, int8_t>(v, s, m);
    case DType::u8: return convert<From, uint8_t>(v, s, m);
    default: break;
    }
}

}  // namespace

void execute(const VecConv &v, const Step &s, Memory &m) {
    switch (s.locations[1].dtype) {
    case DType::f16: return convert_from<float16>(v, s, m);
    case DType::bf16: return convert_from<bfloat16>(v, s, m);
    case DType::f32: return convert_from<float>(v, s, m);
    case DType::i32: return convert_from<int32_t>(v, s, m);
    case DType::i8: return convert_from<int8_t>(v, s, m);
    case DType::u8: return convert_from<uint8_t>(v, s, m);
    default: break;
    }
}

}  // namespace halyard::dv
