// dtype: the element types of tensors.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace halyard {

enum class DType : uint8_t { f64, f32, f16, bf16, i64, i32, i8, u8, boolean };
inline constexpr int dtype_count = 9;

size_t bytes_of(DType t);           // of one element; bool takes one byte
const char *name_of(DType t);       // "f32", "bool"
DType dtype_of(const std::string &name);  // accepts "f32" and "float32"; throws DTypeError
bool is_float(DType t);             // f64 f32 f16 bf16
bool is_integer(DType t);           // i64 i32 i8 u8

// NumPy's type promotion; f16 with bf16 gives f32, an integer with a float gives that float.
DType promote(DType a, DType b);

// The 16-bit floats as storage: conversions round to nearest even and keep NaN and Inf.
struct float16 {
    uint16_t bits = 0;
    float16() = default;
    explicit float16(float v);
    operator float() const;
};
struct bfloat16 {
    uint16_t bits = 0;
    bfloat16() = default;
    explicit bfloat16(float v);
    operator float() const;
};

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
