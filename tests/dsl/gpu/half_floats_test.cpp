// Tests the conversions of 16-bit floats by integer arithmetic against Halide's classes, and a
// pipeline that holds 16-bit floats as integers against one that doesn't.
#include "dsl/gpu/half_floats.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

namespace halyard::gpu {
namespace {

using Halide::bfloat16_t, Halide::Buffer, Halide::float16_t, Halide::Func, Halide::Var;

constexpr int all_halves = 1 << 16;

uint32_t bits_of(float v) {
    uint32_t bits = 0;
    std::memcpy(&bits, &v, sizeof bits);
    return bits;
}

float float_of(uint32_t bits) {
    float v = 0;
    std::memcpy(&v, &bits, sizeof v);
    return v;
}

// Returns `f` of every 16-bit integer.
Buffer<float> widened(Halide::Expr (*f)(const Halide::Expr &)) {
    Var x("x");
    Func g("widened");
    g(x) = f(Halide::cast<uint16_t>(x));
    return g.realize({all_halves});
}

template<class Half> void expect_exact(const Buffer<float> &values) {
    for (int k = 0; k < all_halves; k++) {
        const auto expected = float(Half::make_from_bits(uint16_t(k)));
        if (std::isnan(expected))
            EXPECT_TRUE(std::isnan(values(k))) << k;
        else
            EXPECT_EQ(bits_of(values(k)), bits_of(expected)) << k;
    }
}

TEST(HalfFloats, WidenExactly) {
    expect_exact<float16_t>(widened(f32_of_f16));
    expect_exact<bfloat16_t>(widened(f32_of_bf16));
}

// Returns floats of all signs and exponents, with fractions at and beside the middle between two
// 16-bit floats.
std::vector<float> hard_to_round() {
    std::vector<float> all;
    for (uint32_t upper = 0; upper < 1 << 13; upper++) {
        for (const uint32_t lower : {0U, 1U, 0xfffU, 0x1000U, 0x1001U, 0x7fffU, 0x8000U, 0x8001U,
                                     0x17fffU, 0x18000U, 0x18001U, 0x7ffffU})
            all.push_back(float_of((upper << 19) | lower));
    }
    return all;
}

template<class Half>
void expect_nearest(Halide::Expr (*f)(const Halide::Expr &), const std::vector<float> &values) {
    Buffer<float> in(int(values.size()));
    std::copy(values.begin(), values.end(), in.begin());
    Var x("x");
    Func g("narrowed");
    g(x) = f(in(x));
    const Buffer<uint16_t> out = g.realize({in.width()});
    for (int k = 0; k < in.width(); k++) {
        const auto got = float(Half::make_from_bits(out(k)));
        if (std::isnan(in(k)))
            EXPECT_TRUE(std::isnan(got)) << k;
        else
            EXPECT_EQ(out(k), Half(in(k)).to_bits()) << in(k);
    }
}

TEST(HalfFloats, NarrowToTheNearestEven) {
    expect_nearest<float16_t>(f16_of_f32, hard_to_round());
    expect_nearest<bfloat16_t>(bf16_of_f32, hard_to_round());
}

// Returns 2 x where that is more than 0.5, else x: converted, compared and copied.
template<class Half> Buffer<Half> mapped(const Buffer<Half> &x, bool held) {
    Var i("i");
    Func doubled("doubled"), y("y");
    doubled(i) = Halide::cast<Half>(Halide::cast<float>(x(i)) * 2.0F);
    y(i) = Halide::select(doubled(i) > Half(0.5F), doubled(i), x(i));
    doubled.compute_root();
    Halide::Pipeline p(y);
    if (held) hold_half_floats_as_integers(p);
    Buffer<Half> out(x.width());
    p.realize(out);
    return out;
}

template<class Half> void expect_the_same() {
    Buffer<Half> x(512);
    for (int k = 0; k < x.width(); k++)
        x(k) = Half(float(k - 256) / 64.0F);
    const Buffer<Half> expected = mapped(x, false);
    const Buffer<Half> held = mapped(x, true);
    for (int k = 0; k < x.width(); k++)
        EXPECT_EQ(held(k).to_bits(), expected(k).to_bits()) << k;
}

TEST(HalfFloats, HeldAsIntegersGiveTheSameBits) {
    expect_the_same<float16_t>();
    expect_the_same<bfloat16_t>();
}

TEST(HalfFloats, ArithmeticIsRefused) {
    Var i("i");
    Func y("y");
    const Buffer<bfloat16_t> x(16);
    y(i) = x(i) + x(i);
    Halide::Pipeline p(y);
    hold_half_floats_as_integers(p);
    EXPECT_THROW(p.compile_jit(), Halide::CompileError);
}

}  // namespace
}  // namespace halyard::gpu
