// dtype: the element types of tensors.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>

namespace halyard {

enum class DType : uint8_t { f64, f32, f16, bf16, i64, i32, i8, u8, boolean };
inline constexpr int dtype_count = 9;

size_t bytes_of(DType t);                 // of one element; bool takes one byte
const char *name_of(DType t);             // "f32", "bool"
DType dtype_of(const std::string &name);  // accepts "f32" and "float32"; throws DTypeError
bool is_float(DType t);                   // f64 f32 f16 bf16
bool is_integer(DType t);                 // i64 i32 i8 u8

// Returns the promotion of two dtypes, as in NumPy, except that f16 with bf16 gives f32, an integer
// with a float gives that float, and i8 with u8 gives i32 (there is no i16).
DType promote(DType a, DType b);

// The 16-bit floats as storage. Conversions round to nearest even, keep Inf and subnormals, and
// make NaN quiet. float16 is IEEE 754 binary16 and bfloat16 the upper half of binary32, as in
// Halide.
struct float16 {
    uint16_t bits = 0;
    float16() = default;
    explicit float16(float v) : bits(round(v)) {}
    operator float() const {
        const uint32_t sign = uint32_t(bits & 0x8000) << 16;
        const uint32_t exponent = bits >> 10 & 31;
        const uint32_t fraction = bits & 0x3ff;
        if (exponent == 31) {
            return std::bit_cast<float>(sign | 0x7f800000u | fraction << 13 |
                                        (fraction ? 0x400000u : 0u));
        }
        if (exponent == 0)
            return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(float(fraction) * 0x1p-24f));
        return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
    }

private:
    static uint16_t round(float v) {
        const uint32_t all = std::bit_cast<uint32_t>(v);
        const uint32_t sign = all >> 16 & 0x8000;
        uint32_t x = all & 0x7fffffff;
        if (x > 0x7f800000) return uint16_t(sign | 0x7e00 | (x >> 13 & 0x3ff));
        // 65520 and above round to infinity: the largest float16 is 65504.
        if (x >= 0x477ff000) return uint16_t(sign | 0x7c00);
        // A subnormal: the ulp of 0.5f is the subnormals' unit, 2^-24, so the addition rounds.
        if (x < 0x38800000) {
            return uint16_t(
                sign | (std::bit_cast<uint32_t>(std::bit_cast<float>(x) + 0.5f) - 0x3f000000u));
        }
        x += 0xfff + (x >> 13 & 1);
        return uint16_t(sign | (x - 0x38000000) >> 13);
    }
};
struct bfloat16 {
    uint16_t bits = 0;
    bfloat16() = default;
    explicit bfloat16(float v) : bits(round(v)) {}
    operator float() const { return std::bit_cast<float>(uint32_t(bits) << 16); }

private:
    static uint16_t round(float v) {
        const uint32_t x = std::bit_cast<uint32_t>(v);
        if ((x & 0x7fffffff) > 0x7f800000) return uint16_t(x >> 16 | 0x40);
        return uint16_t((x + 0x7fff + (x >> 16 & 1)) >> 16);
    }
};
static_assert(sizeof(float16) == 2 && sizeof(bfloat16) == 2);

template<class T> struct dtype_for;  // dtype_for<float>::value
template<> struct dtype_for<double> { static constexpr DType value = DType::f64; };
template<> struct dtype_for<float> { static constexpr DType value = DType::f32; };
template<> struct dtype_for<float16> { static constexpr DType value = DType::f16; };
template<> struct dtype_for<bfloat16> { static constexpr DType value = DType::bf16; };
template<> struct dtype_for<int64_t> { static constexpr DType value = DType::i64; };
template<> struct dtype_for<int32_t> { static constexpr DType value = DType::i32; };
template<> struct dtype_for<int8_t> { static constexpr DType value = DType::i8; };
template<> struct dtype_for<uint8_t> { static constexpr DType value = DType::u8; };
template<> struct dtype_for<bool> { static constexpr DType value = DType::boolean; };

// Calls f(T()) with the C++ type of `t`.
template<class F> decltype(auto) visit_dtype(DType t, F &&f) {
    switch (t) {
    case DType::f64: return f(double());
    case DType::f32: return f(float());
    case DType::f16: return f(float16());
    case DType::bf16: return f(bfloat16());
    case DType::i64: return f(int64_t());
    case DType::i32: return f(int32_t());
    case DType::i8: return f(int8_t());
    case DType::u8: return f(uint8_t());
    case DType::boolean: break;
    }
    return f(bool());
}

}  // namespace halyard
