// Instructions that compute lane by lane: a function of one to three values, applied to rows.
#pragma once
#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "gpu/machine/program.h"
#include "registry/tensor/dtype.h"

namespace halyard::ptx {

template<class T> constexpr bool is_float_type = std::is_floating_point_v<T> ||
                                                 std::is_same_v<T, float16> ||
                                                 std::is_same_v<T, bfloat16>;

template<class T> T unpack(uint64_t bits) {
    if constexpr (std::is_same_v<T, float>) {
        return std::bit_cast<float>(uint32_t(bits));
    } else if constexpr (std::is_same_v<T, double>) {
        return std::bit_cast<double>(bits);
    } else if constexpr (is_float_type<T>) {
        T half;
        half.bits = uint16_t(bits);
        return half;
    } else {
        return T(bits);
    }
}

template<class T> uint64_t pack(T value) {
    if constexpr (std::is_same_v<T, float>)
        return std::bit_cast<uint32_t>(value);
    else if constexpr (std::is_same_v<T, double>)
        return std::bit_cast<uint64_t>(value);
    else if constexpr (is_float_type<T>)
        return value.bits;
    else
        return uint64_t(int64_t(value));
}
template<> inline uint64_t pack(uint64_t value) {
    return value;
}

template<class F> void for_lanes(uint32_t mask, F f) {
    if (mask == all_lanes) {
        for (uint32_t lane = 0; lane < lanes; lane++)
            f(lane);
        return;
    }
    for (; mask != 0; mask &= mask - 1)
        f(uint32_t(std::countr_zero(mask)));
}

// F::of(a), F::of(a, b) and F::of(a, b, c) compute a D.
template<class F, class D, class A> void unary(const Step &s, Warp &w, uint32_t mask) {
    const Row &a = w.rows[s.a];
    Row &to = w.rows[s.to];
    for_lanes(mask, [&](uint32_t l) { to[l] = pack<D>(F::of(unpack<A>(a[l]))); });
}

template<class F, class D, class A, class B> void binary(const Step &s, Warp &w, uint32_t mask) {
    const Row &a = w.rows[s.a], &b = w.rows[s.b];
    Row &to = w.rows[s.to];
    for_lanes(mask, [&](uint32_t l) { to[l] = pack<D>(F::of(unpack<A>(a[l]), unpack<B>(b[l]))); });
}

template<class F, class D, class A, class B, class C>
void ternary(const Step &s, Warp &w, uint32_t mask) {
    const Row &a = w.rows[s.a], &b = w.rows[s.b], &c = w.rows[s.c];
    Row &to = w.rows[s.to];
    for_lanes(mask, [&](uint32_t l) {
        to[l] = pack<D>(F::of(unpack<A>(a[l]), unpack<B>(b[l]), unpack<C>(c[l])));
    });
}

// Returns `value` as PTX gives it: NaN of f32 has the bits 0x7FFFFFFF.
inline float canonical(float value) {
    return value != value ? std::bit_cast<float>(0x7FFF'FFFFU) : value;
}
inline double canonical(double value) {
    return value;
}
inline float16 canonical(float value, float16) {
    float16 half(value);
    if (value != value) half.bits = 0x7FFF;
    return half;
}

// Returns 0 with the sign of `value` for a subnormal.
inline float flush(float value) {
    const uint32_t bits = std::bit_cast<uint32_t>(value);
    return (bits & 0x7F80'0000U) == 0 ? std::bit_cast<float>(bits & 0x8000'0000U) : value;
}

// Returns `value` between 0 and 1; 0 for NaN.
template<class T> T saturate(T value) {
    if (!(value > T(0))) return T(0);
    return value > T(1) ? T(1) : value;
}

// Calls f.operator()<T>() for the type of this name, which one of T... is. Returns a default value
// for another name.
template<class... T, class F> Execute for_type(const TypeName &name, F f);

// The names of types that arithmetic takes. Types of bits are unsigned integers.
template<class T> constexpr const char *type_names() {
    if constexpr (std::is_same_v<T, int8_t>) return "s8";
    if constexpr (std::is_same_v<T, uint8_t>) return "u8 b8";
    if constexpr (std::is_same_v<T, int16_t>) return "s16";
    if constexpr (std::is_same_v<T, uint16_t>) return "u16 b16";
    if constexpr (std::is_same_v<T, int32_t>) return "s32";
    if constexpr (std::is_same_v<T, uint32_t>) return "u32 b32";
    if constexpr (std::is_same_v<T, int64_t>) return "s64";
    if constexpr (std::is_same_v<T, uint64_t>) return "u64 b64";
    if constexpr (std::is_same_v<T, float16>) return "f16";
    if constexpr (std::is_same_v<T, bfloat16>) return "bf16";
    if constexpr (std::is_same_v<T, float>) return "f32";
    if constexpr (std::is_same_v<T, double>) return "f64";
    return "";
}

template<class T> bool has_name(const TypeName &name) {
    const std::string names = type_names<T>();
    const size_t blank = names.find(' ');
    return name == names.substr(0, blank) ||
           (blank != std::string::npos && name == names.substr(blank + 1));
}

template<class... T, class F> Execute for_type(const TypeName &name, F f) {
    Execute found = nullptr;
    (void)((has_name<T>(name) && (found = f.template operator()<T>(), true)) || ...);
    return found;
}

}  // namespace halyard::ptx
