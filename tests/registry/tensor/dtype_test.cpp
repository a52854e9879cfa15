#include "registry/tensor/dtype.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "registry/base/error.h"
#include "registry/tensor/convert.h"

namespace halyard {
namespace {

constexpr DType all[] = {DType::f64, DType::f32, DType::f16, DType::bf16,   DType::i64,
                         DType::i32, DType::i8,  DType::u8,  DType::boolean};

float16 half(int bits) {
    float16 h;
    h.bits = uint16_t(bits);
    return h;
}

bfloat16 brain(int bits) {
    bfloat16 h;
    h.bits = uint16_t(bits);
    return h;
}

// Computes the value of a 16-bit float in double, from its fields alone.
double value(int bits, int exponent_bits) {
    const int fraction_bits = 15 - exponent_bits;
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const int exponent = bits >> fraction_bits & ((1 << exponent_bits) - 1);
    const int fraction = bits & ((1 << fraction_bits) - 1);
    const double sign = bits >> 15 ? -1 : 1;
    if (exponent == (1 << exponent_bits) - 1) return fraction ? std::nan("") : sign * INFINITY;
    return sign * std::ldexp(fraction + (exponent ? 1 << fraction_bits : 0),
                             std::max(exponent, 1) - bias - fraction_bits);
}

template<class T> T of_bits(int bits) {
    if constexpr (std::is_same_v<T, float16>)
        return half(bits);
    else
        return brain(bits);
}

template<class T> void every_pattern(int exponent_bits) {
    for (int bits = 0; bits < 65536; bits++) {
        const double expected = value(bits, exponent_bits);
        const auto got = float(of_bits<T>(bits));
        if (std::isnan(expected)) {
            ASSERT_TRUE(std::isnan(got)) << bits;
            ASSERT_TRUE(std::isnan(float(T(got)))) << bits;
            ASSERT_EQ(T(got).bits >> 15, bits >> 15);
            continue;
        }
        ASSERT_EQ(double(got), expected) << bits;
        ASSERT_EQ(T(got).bits, bits);
    }
}

TEST(DTypes, EveryF16PatternHasItsValueAndReturns) {
    every_pattern<float16>(5);
}
TEST(DTypes, EveryBf16PatternHasItsValueAndReturns) {
    every_pattern<bfloat16>(8);
}

// Between neighbours a < b of the short type, the midpoint rounds to the even one and any other
// value to the nearer one.
template<class T> void rounding(int largest) {
    for (int bits = 0; bits < largest; bits++) {
        const double a = float(of_bits<T>(bits));
        const double b = float(of_bits<T>(bits + 1));
        const double midpoint = (a + b) / 2;
        const int even = bits % 2 ? bits + 1 : bits;
        for (const double sign : {1.0, -1.0}) {
            const int s = sign < 0 ? 0x8000 : 0;
            ASSERT_EQ(convert<T>(sign * midpoint).bits, even | s) << bits;
            // Rounding to float first would round these twice.
            ASSERT_EQ(convert<T>(sign * std::nextafter(midpoint, a)).bits, bits | s) << bits;
            ASSERT_EQ(convert<T>(sign * std::nextafter(midpoint, b)).bits, (bits + 1) | s) << bits;
            const auto f = float(midpoint);
            if (double(f) != midpoint) continue;  // The midpoint is below float's subnormals.
            ASSERT_EQ(T(float(sign) * f).bits, even | s) << bits;
            ASSERT_EQ(T(float(sign) * std::nextafter(f, float(a))).bits, bits | s) << bits;
            ASSERT_EQ(T(float(sign) * std::nextafter(f, float(b))).bits, (bits + 1) | s) << bits;
        }
    }
}

TEST(DTypes, F16RoundsToNearestEven) {
    rounding<float16>(0x7bff);
}
TEST(DTypes, Bf16RoundsToNearestEven) {
    rounding<bfloat16>(0x7f7f);
}

TEST(DTypes, OverflowOf16BitFloats) {
    EXPECT_EQ(float16(65519.996f).bits, 0x7bff);
    EXPECT_EQ(float16(65520.0f).bits, 0x7c00);
    EXPECT_EQ(float16(-1e30f).bits, 0xfc00);
    EXPECT_EQ(float16(INFINITY).bits, 0x7c00);
    EXPECT_EQ(bfloat16(std::numeric_limits<float>::max()).bits, 0x7f80);
    EXPECT_EQ(bfloat16(-INFINITY).bits, 0xff80);
    EXPECT_EQ(convert<float16>(1e300).bits, 0x7c00);
    EXPECT_EQ(float16(0x1p-25f).bits, 0)
        << "half the least subnormal is a tie with zero, which is even";
    EXPECT_EQ(float16(0x1.000002p-25f).bits, 1);
    EXPECT_EQ(float16(-0.0f).bits, 0x8000);
}

TEST(DTypes, KeepNan) {
    // Truncation would remove the payload, which must not give Inf.
    const float low_payload = std::bit_cast<float>(0x7f800001u);
    EXPECT_TRUE(std::isnan(float(float16(low_payload))));
    EXPECT_TRUE(std::isnan(float(bfloat16(low_payload))));
    EXPECT_TRUE(std::isnan(float(bfloat16(std::bit_cast<float>(0xffffffffu)))));
}

TEST(DTypes, ConversionsBetweenIntegersAndFloats) {
    EXPECT_EQ(convert<int32_t>(-2.9f), -2);
    EXPECT_EQ(convert<uint8_t>(300.0f), 44);
    EXPECT_EQ(convert<uint8_t>(-1.0), 255);
    EXPECT_EQ(convert<int64_t>(std::nan("")), std::numeric_limits<int64_t>::min());
    EXPECT_EQ(convert<int64_t>(1e19), std::numeric_limits<int64_t>::min());
    EXPECT_EQ(convert<int32_t>(-INFINITY), 0);
    EXPECT_TRUE(convert<bool>(0.25f));
    EXPECT_TRUE(convert<bool>(std::nan("")));
    EXPECT_FALSE(convert<bool>(half(0x8000)));
    EXPECT_TRUE(convert<bool>(int8_t(-1)));
    EXPECT_EQ(convert<bfloat16>(int32_t(16842753)).bits, 0x4b81)
        << "2^24 + 2^16 + 1 is just above a tie; a float can't tell";
}

TEST(DTypes, NamesAndSizes) {
    const size_t bytes[] = {8, 4, 2, 2, 8, 4, 1, 1, 1};
    for (const DType t : all) {
        EXPECT_EQ(dtype_of(name_of(t)), t);
        EXPECT_EQ(bytes_of(t), bytes[int(t)]);
        EXPECT_EQ(bytes_of(t), visit_dtype(t, [](auto zero) { return sizeof(zero); }));
    }
    EXPECT_EQ(dtype_of("float32"), DType::f32);
    EXPECT_EQ(dtype_of("bfloat16"), DType::bf16);
    EXPECT_STREQ(name_of(DType::boolean), "bool");
    try {
        dtype_of("f8");
        FAIL();
    } catch (const DTypeError &e) {
        EXPECT_STREQ(
            e.what(),
            "[dtype] unknown dtype 'f8', expected one of f64 f32 f16 bf16 i64 i32 i8 u8 bool");
    }
}

TEST(DTypes, PromotionTable) {
    const char *expected[dtype_count] = {
        // f64  f32   f16   bf16  i64   i32   i8    u8    bool
        "f64 f64 f64 f64 f64 f64 f64 f64 f64 ",  "f64 f32 f32 f32 f32 f32 f32 f32 f32 ",
        "f64 f32 f16 f32 f16 f16 f16 f16 f16 ",  "f64 f32 f32 bf16 bf16 bf16 bf16 bf16 bf16 ",
        "f64 f32 f16 bf16 i64 i64 i64 i64 i64 ", "f64 f32 f16 bf16 i64 i32 i32 i32 i32 ",
        "f64 f32 f16 bf16 i64 i32 i8 i32 i8 ",   "f64 f32 f16 bf16 i64 i32 i32 u8 u8 ",
        "f64 f32 f16 bf16 i64 i32 i8 u8 bool ",
    };
    for (const DType a : all) {
        std::string row;
        for (const DType b : all) {
            row += std::string(name_of(promote(a, b))) + " ";
            EXPECT_EQ(promote(a, b), promote(b, a));
        }
        EXPECT_EQ(row, expected[int(a)]) << name_of(a);
    }
}

}  // namespace
}  // namespace halyard
