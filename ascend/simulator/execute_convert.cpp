// vec_conv: every rounding mode, saturating where the target is an integer.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ascend/simulator/memory.h"

namespace halyard::dv {
namespace {

// The neighbours of v among the values of T, v itself twice where it is one of them.
template<class T> std::pair<double, double> neighbours(double v) {
    // perhaps not the nearest one, as it is rounded twice, but next to v
    const T near = T(float(v));
    const double at = double(float(near));
    if (at == v || !std::isfinite(v)) return {at, at};
    T other = near;
    // One bit pattern up is one value away from zero.
    if (near.bits << 1 == 0)
        other.bits = uint16_t((v < 0 ? 0x8000 : 0) | 1);
    else
        other.bits = uint16_t(std::fabs(v) > std::fabs(at) ? near.bits + 1 : near.bits - 1);
    const double next = double(float(other));
    return {std::min(at, next), std::max(at, next)};
}

template<class T> T round_to(double v, Round mode) {
    if constexpr (std::is_integral_v<T>) {
        switch (mode) {
        case Round::floor: v = std::floor(v); break;
        case Round::ceil: v = std::ceil(v); break;
        case Round::away: v = std::round(v); break;
        case Round::truncate: v = std::trunc(v); break;
        case Round::none:
        case Round::nearest_even: v = std::nearbyint(v); break;
        }
        if (std::isnan(v)) return 0;
        return (T)std::clamp(v, double(std::numeric_limits<T>::min()),
                             double(std::numeric_limits<T>::max()));
    } else if constexpr (std::is_same_v<T, float>)
        return float(v);
    else {
        const bool nearest = mode == Round::none || mode == Round::nearest_even;
        const T by_float = T(float(v));
        if (nearest && (double(float(v)) == v || !std::isfinite(float(by_float)))) return by_float;
        const auto [below, above] = neighbours<T>(v);
        if (nearest && v - below == above - v)
            return T(float(below)).bits % 2 ? T(float(above)) : T(float(below));
        if (nearest) return T(float(v - below < above - v ? below : above));
        double to = below;
        if (mode == Round::ceil)
            to = above;
        else if (mode == Round::truncate)
            to = v < 0 ? above : below;
        else if (mode == Round::away && below != above)
            to = v - below > above - v || (v - below == above - v && v > 0) ? above : below;
        return T(float(to));
    }
}

template<class From, class To> void convert(const VecConv &v, const Step &s, Memory &m) {
    const StridedAccess d = access_of(s.locations[0], v.dst_blk, v.dst_rep);
    const StridedAccess a = access_of(s.locations[1], v.src_blk, v.src_rep);
    const int elements = repeat_elements(v);
    uint8_t *to = m.base(s.locations[0]);
    const uint8_t *from = m.base(s.locations[1]);
    const auto one = [&](int64_t r, int e) {
        const double x = double(*(const From *)(from + a.element(r, e)));
        *(To *)(to + d.element(r, e)) = round_to<To>(x * v.scale, v.round);
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
