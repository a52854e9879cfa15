// Tests what each mnemonic computes, with the values at which its forms differ.
#include <bit>
#include <cmath>
#include <limits>

#include "gpu/machine/machine.h"
#include "tests/gpu/run_ptx.h"

namespace halyard::ptx {
namespace {

// Stores register 4 of a class, as 64 bits.
std::string store_of(const std::string &result) {
    const std::string widened = "    cvt.u64.u32 %rd5, %r5;\n";
    std::string text;
    if (result == "%p4")
        text = "    selp.u32 %r5, 1, 0, %p4;\n" + widened;
    else if (result == "%rs4")
        text = "    cvt.u32.u16 %r5, %rs4;\n" + widened;
    else if (result == "%r4")
        text = "    mov.b32 %r5, %r4;\n" + widened;
    else if (result == "%f4")
        text = "    mov.b32 %r5, %f4;\n" + widened;
    else if (result == "%fd4")
        text = "    mov.b64 %rd5, %fd4;\n";
    else
        text = "    mov.b64 %rd5, %rd4;\n";
    return text + "    ld.param.u64 %rd6, [p3];\n    st.global.u64 [%rd6], %rd5;\n";
}

const std::string operands = R"(
    ld.param.u64 %rd1, [p0];
    ld.param.u64 %rd2, [p1];
    ld.param.u64 %rd3, [p2];
    cvt.u32.u64 %r1, %rd1;
    cvt.u32.u64 %r2, %rd2;
    cvt.u32.u64 %r3, %rd3;
    cvt.u16.u64 %rs1, %rd1;
    cvt.u16.u64 %rs2, %rd2;
    cvt.u16.u64 %rs3, %rd3;
    mov.b32 %f1, %r1;
    mov.b32 %f2, %r2;
    mov.b32 %f3, %r3;
    mov.b64 %fd1, %rd1;
    mov.b64 %fd2, %rd2;
    mov.b64 %fd3, %rd3;
    setp.ne.u64 %p1, %rd1, 0;
    setp.ne.u64 %p2, %rd2, 0;
)";

// Runs instructions that read registers 1 to 3 of any class, which hold a, b and c, and write the
// register `result`. Returns its bits.
uint64_t bits_of(const std::string &result, const std::string &instructions, uint64_t a,
                 uint64_t b = 0, uint64_t c = 0) {
    KernelRun run(module_of(operands + instructions + store_of(result)));
    for (uint64_t value : {a, b, c})
        run.add_value(value);
    const uint64_t to = run.add_unwritten(8);
    for (const Finding &f : run.launch({}))
        ADD_FAILURE() << text_of(f);
    return run.values<uint64_t>(to)[0];
}

template<class T> uint64_t bits(T value) {
    if constexpr (std::is_same_v<T, float>)
        return std::bit_cast<uint32_t>(value);
    else if constexpr (std::is_same_v<T, double>)
        return std::bit_cast<uint64_t>(value);
    else
        return uint64_t(value);
}

template<class T> uint64_t f32(const std::string &form, T a, T b = {}, T c = {}) {
    const bool ternary = form.starts_with("fma");
    const bool unary = form.starts_with("neg") || form.starts_with("abs") ||
                       form.starts_with("sqrt") || form.starts_with("rcp") ||
                       form.starts_with("cvt");
    return bits_of("%f4",
                   form + " %f4, %f1" + (unary ? "" : ", %f2") + (ternary ? ", %f3" : "") + ";\n",
                   bits(a), bits(b), bits(c));
}

uint32_t s32(const std::string &form, int64_t a, int64_t b = 0, int64_t c = 0) {
    return uint32_t(bits_of("%r4", form + ";\n", uint64_t(a), uint64_t(b), uint64_t(c)));
}

bool predicate(const std::string &text, uint64_t a, uint64_t b = 0) {
    return bits_of("%p4", text + ";\n", a, b) != 0;
}

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float nan_ = std::numeric_limits<float>::quiet_NaN();
constexpr uint64_t canonical_nan = 0x7FFFFFFF;
constexpr float subnormal = 1e-40f;

TEST(Instructions, SumsAndProducts) {
    EXPECT_EQ(f32("add.f32", 1.0f, 0x1p-24f), bits(1.0f)) << "ties go to even";
    EXPECT_EQ(f32("add.rn.f32", 0x1.000002p0f, 0x1p-24f), bits(0x1.000004p0f));
    EXPECT_EQ(f32("sub.rn.f32", 3.0f, 5.0f), bits(-2.0f));
    EXPECT_EQ(f32("mul.rn.f32", 3.0f, -0.0f), bits(-0.0f));
    EXPECT_EQ(f32("add.f32", subnormal, 0.0f), bits(subnormal));
    EXPECT_EQ(f32("add.ftz.f32", -subnormal, -0.0f), bits(-0.0f));
    EXPECT_EQ(f32("mul.ftz.f32", 1e-20f, 1e-20f), bits(0.0f));
    EXPECT_EQ(f32("add.sat.f32", 3.0f, 5.0f), bits(1.0f));
    EXPECT_EQ(f32("mul.sat.f32", nan_, 5.0f), bits(0.0f));
    EXPECT_EQ(f32("sub.f32", infinity, infinity), canonical_nan);
    EXPECT_EQ(bits_of("%fd4", "add.rn.f64 %fd4, %fd1, %fd2;\n", bits(1.0), bits(0x1p-52)),
              bits(1.0 + 0x1p-52));
    EXPECT_EQ(bits_of("%rs4", "add.f16 %rs4, %rs1, %rs2;\n", 0x3C00, 0x4000), 0x4200U) << "1 + 2";
    EXPECT_EQ(bits_of("%rs4", "mul.f16 %rs4, %rs1, %rs2;\n", 0x7BFF, 0x4000), 0x7C00U);
}

TEST(Instructions, FmaRoundsOnce) {
    const float a = 0x1.001p0f;
    EXPECT_EQ(f32("fma.rn.f32", a, a, -1.0f), bits(std::fma(a, a, -1.0f)));
    EXPECT_NE(f32("fma.rn.f32", a, a, -1.0f), bits(float(a * a) - 1.0f));
    EXPECT_EQ(f32("fma.rn.ftz.f32", subnormal, 2.0f, 0.0f), bits(0.0f));
    EXPECT_EQ(f32("fma.rn.sat.f32", 2.0f, 2.0f, 0.0f), bits(1.0f));
    EXPECT_EQ(f32("fma.rn.f32", infinity, 0.0f, 0.0f), canonical_nan);
    const double d = 0x1.0000000000001p0;
    EXPECT_EQ(bits_of("%fd4", "fma.rn.f64 %fd4, %fd1, %fd2, %fd3;\n", bits(d), bits(d), bits(-1.0)),
              bits(std::fma(d, d, -1.0)));
    // The square of 1 + 2^-6, minus 1, is 2^-5 + 2^-12.
    EXPECT_EQ(bits_of("%rs4", "fma.rn.f16 %rs4, %rs1, %rs1, %rs2;\n", 0x3C10, 0xBC00), 0x2808U);
}

TEST(Instructions, QuotientsAndRoots) {
    EXPECT_EQ(f32("div.rn.f32", 1.0f, 3.0f), bits(1.0f / 3.0f));
    EXPECT_EQ(f32("div.rn.f32", -1.0f, 0.0f), bits(-infinity));
    EXPECT_EQ(f32("div.rn.f32", 0.0f, 0.0f), canonical_nan);
    EXPECT_EQ(f32("sqrt.rn.f32", 2.0f), bits(std::sqrt(2.0f)));
    EXPECT_EQ(f32("sqrt.rn.f32", -1.0f), canonical_nan);
    EXPECT_EQ(f32("sqrt.rn.f32", -0.0f), bits(-0.0f));
    EXPECT_EQ(f32("rcp.rn.f32", 3.0f), bits(1.0f / 3.0f));
    EXPECT_EQ(f32("rcp.rn.ftz.f32", subnormal), bits(infinity));
    EXPECT_EQ(bits_of("%fd4", "div.rn.f64 %fd4, %fd1, %fd2;\n", bits(1.0), bits(3.0)),
              bits(1.0 / 3.0));
    EXPECT_EQ(s32("div.s32 %r4, %r1, %r2", -7, 2), uint32_t(-3));
    EXPECT_EQ(s32("div.u32 %r4, %r1, %r2", -7, 2), 0x7FFFFFFCU);
    EXPECT_EQ(s32("div.s32 %r4, %r1, %r2", 5, 0), 0xFFFFFFFFU);
    EXPECT_EQ(s32("div.s32 %r4, %r1, %r2", INT32_MIN, -1), uint32_t(INT32_MIN));
    EXPECT_EQ(s32("rem.s32 %r4, %r1, %r2", -7, 2), uint32_t(-1));
    EXPECT_EQ(s32("rem.s32 %r4, %r1, %r2", INT32_MIN, -1), 0U);
    EXPECT_EQ(bits_of("%rd4", "div.u64 %rd4, %rd1, %rd2;\n", uint64_t(1) << 63, 3),
              (uint64_t(1) << 63) / 3);
}

TEST(Instructions, SignsAndExtremes) {
    EXPECT_EQ(f32("neg.f32", 0.0f), bits(-0.0f));
    EXPECT_EQ(f32("abs.f32", -infinity), bits(infinity));
    EXPECT_EQ(f32("abs.ftz.f32", -subnormal), bits(0.0f));
    EXPECT_EQ(s32("abs.s32 %r4, %r1", -5), 5U);
    EXPECT_EQ(s32("neg.s32 %r4, %r1", INT32_MIN), uint32_t(INT32_MIN));
    EXPECT_EQ(f32("max.f32", nan_, 1.0f), bits(1.0f));
    EXPECT_EQ(f32("min.f32", 1.0f, nan_), bits(1.0f));
    EXPECT_EQ(f32("max.f32", nan_, nan_), canonical_nan);
    EXPECT_EQ(f32("max.f32", -0.0f, 0.0f), bits(0.0f));
    EXPECT_EQ(f32("min.f32", 0.0f, -0.0f), bits(-0.0f));
    EXPECT_EQ(f32("max.NaN.f32", nan_, 1.0f), canonical_nan);
    EXPECT_EQ(f32("min.NaN.f32", 2.0f, 1.0f), bits(1.0f));
    EXPECT_EQ(s32("max.s32 %r4, %r1, %r2", -1, 1), 1U);
    EXPECT_EQ(s32("max.u32 %r4, %r1, %r2", -1, 1), 0xFFFFFFFFU);
    EXPECT_EQ(f32("copysign.f32", -1.0f, 5.0f), bits(-5.0f)) << "the sign of a, the value of b";
}

TEST(Instructions, IntegerArithmetic) {
    EXPECT_EQ(s32("add.s32 %r4, %r1, %r2", INT32_MAX, 1), uint32_t(INT32_MIN));
    EXPECT_EQ(s32("sub.s32 %r4, %r1, 1", 0), 0xFFFFFFFFU);
    EXPECT_EQ(s32("mul.lo.s32 %r4, %r1, %r2", 0x10001, 0x10001), 0x20001U);
    EXPECT_EQ(s32("mul.hi.s32 %r4, %r1, %r2", -1, 5), 0xFFFFFFFFU);
    EXPECT_EQ(s32("mul.hi.u32 %r4, %r1, %r2", -1, 5), 4U);
    EXPECT_EQ(s32("mad.lo.s32 %r4, %r1, %r2, %r3", 3, -4, 5), uint32_t(-7));
    EXPECT_EQ(bits_of("%rd4", "mul.wide.s32 %rd4, %r1, %r2;\n", uint64_t(-3), 1 << 30),
              uint64_t(-3LL << 30));
    EXPECT_EQ(bits_of("%rd4", "mul.wide.u32 %rd4, %r1, 4;\n", 0xFFFFFFFF), 0x3FFFFFFFCULL);
    EXPECT_EQ(bits_of("%rd4", "mad.wide.s32 %rd4, %r1, %r2, %rd3;\n", uint64_t(-3), 5, 100), 85U);
    EXPECT_EQ(s32("mul.wide.u16 %r4, %rs1, %rs2", 0xFFFF, 0xFFFF), 0xFFFE0001U);
    EXPECT_EQ(bits_of("%rd4", "mul.hi.u64 %rd4, %rd1, %rd2;\n", uint64_t(-1), 16), 15U);
    EXPECT_EQ(bits_of("%rs4", "add.s16 %rs4, %rs1, %rs2;\n", 0x7FFF, 1), 0x8000U);
}

TEST(Instructions, BitsAndShifts) {
    EXPECT_EQ(s32("and.b32 %r4, %r1, %r2", 12, 10), 8U);
    EXPECT_EQ(s32("or.b32 %r4, %r1, %r2", 12, 10), 14U);
    EXPECT_EQ(s32("xor.b32 %r4, %r1, %r2", 12, 10), 6U);
    EXPECT_EQ(s32("not.b32 %r4, %r1", 0), 0xFFFFFFFFU);
    EXPECT_EQ(s32("shl.b32 %r4, %r1, 31", 3), 0x80000000U);
    EXPECT_EQ(s32("shl.b32 %r4, %r1, 32", 3), 0U);
    EXPECT_EQ(s32("shr.s32 %r4, %r1, 40", -5), 0xFFFFFFFFU);
    EXPECT_EQ(s32("shr.u32 %r4, %r1, 32", -5), 0U);
    EXPECT_EQ(s32("shr.u32 %r4, %r1, 28", -5), 15U);
    EXPECT_EQ(bits_of("%rs4", "shr.s16 %rs4, %rs1, 4;\n", 0x8000), 0xF800U);
    EXPECT_EQ(s32("shf.l.wrap.b32 %r4, %r1, %r2, 8", 0x11223344, 0x55667788), 0x66778811U);
    EXPECT_EQ(s32("shf.r.wrap.b32 %r4, %r1, %r2, 40", 0x11223344, 0x55667788), 0x88112233U);
    EXPECT_EQ(s32("shf.l.clamp.b32 %r4, %r1, %r2, 40", 0x11223344, 0x55667788), 0x11223344U);
    EXPECT_EQ(s32("popc.b32 %r4, %r1", 0xF0F), 8U);
    EXPECT_EQ(s32("clz.b32 %r4, %r1", 1), 31U);
    EXPECT_EQ(s32("clz.b64 %r4, %rd1", 0), 64U);
    EXPECT_EQ(s32("brev.b32 %r4, %r1", 1), 0x80000000U);
    EXPECT_EQ(s32("bfe.u32 %r4, %r1, 4, 8", 0xABCD), 0xBCU);
    EXPECT_EQ(s32("bfe.s32 %r4, %r1, 4, 8", 0xABCD), 0xFFFFFFBCU);
    EXPECT_EQ(s32("bfe.s32 %r4, %r1, 28, 8", -1), 0xFFFFFFFFU);
    EXPECT_EQ(s32("prmt.b32 %r4, %r1, %r2, 0x7510", 0x11223344, 0x55667788), 0x55773344U);
    EXPECT_EQ(s32("prmt.b32 %r4, %r1, %r2, 0x000C", 0, 0x80), 0x000000FFU);
    EXPECT_TRUE(predicate("and.pred %p4, %p1, %p2", 1, 1));
    EXPECT_FALSE(predicate("and.pred %p4, %p1, %p2", 1, 0));
    EXPECT_TRUE(predicate("or.pred %p4, %p1, %p2", 1, 0));
    EXPECT_TRUE(predicate("xor.pred %p4, %p1, %p2", 1, 0));
    EXPECT_TRUE(predicate("not.pred %p4, %p1", 0));
    EXPECT_TRUE(predicate("mov.pred %p4, %p1", 1));
    EXPECT_TRUE(predicate("mov.pred %p4, 1", 1));
    EXPECT_FALSE(predicate("mov.pred %p4, 0", 1));
}

TEST(Instructions, Comparisons) {
    const uint64_t n = bits(nan_), one = bits(1.0f), two = bits(2.0f);
    EXPECT_TRUE(predicate("setp.lt.f32 %p4, %f1, %f2", one, two));
    EXPECT_FALSE(predicate("setp.lt.f32 %p4, %f1, %f2", n, two));
    EXPECT_TRUE(predicate("setp.ltu.f32 %p4, %f1, %f2", n, two));
    EXPECT_FALSE(predicate("setp.ne.f32 %p4, %f1, %f2", n, two));
    EXPECT_TRUE(predicate("setp.neu.f32 %p4, %f1, %f2", n, n));
    EXPECT_TRUE(predicate("setp.eq.f32 %p4, %f1, %f2", bits(0.0f), bits(-0.0f)));
    EXPECT_TRUE(predicate("setp.nan.f32 %p4, %f1, %f2", n, two));
    EXPECT_FALSE(predicate("setp.num.f32 %p4, %f1, %f2", n, two));
    EXPECT_FALSE(predicate("setp.eq.f32 %p4, %f1, %f2", bits(subnormal), 0));
    EXPECT_TRUE(predicate("setp.eq.ftz.f32 %p4, %f1, %f2", bits(subnormal), 0));
    EXPECT_TRUE(predicate("setp.lt.s32 %p4, %r1, %r2", uint64_t(-1), 1));
    EXPECT_FALSE(predicate("setp.lt.u32 %p4, %r1, %r2", uint64_t(-1), 1));
    EXPECT_FALSE(predicate("setp.lo.u32 %p4, %r1, %r2", uint64_t(-1), 1));
    EXPECT_TRUE(predicate("setp.hs.u32 %p4, %r1, %r2", uint64_t(-1), 1));
    EXPECT_TRUE(predicate("setp.ge.s64 %p4, %rd1, -1", uint64_t(-1)));
    EXPECT_TRUE(predicate("setp.le.s16 %p4, %rs1, %rs2", 0x8000, 0));
    EXPECT_TRUE(predicate("setp.gt.f64 %p4, %fd1, 0d0000000000000000", bits(1e-310)));
    EXPECT_FALSE(predicate("setp.lt.and.s32 %p4, %r1, 9, %p2", 5, 0));
    EXPECT_TRUE(predicate("setp.lt.and.s32 %p4, %r1, 9, !%p2", 5, 0));
    EXPECT_TRUE(predicate("setp.gt.or.s32 %p4, %r1, 9, %p2", 5, 1));
    EXPECT_FALSE(predicate("setp.lt.xor.s32 %p4, %r1, 9, %p2", 5, 1));
    EXPECT_EQ(s32("selp.b32 %r4, %r1, %r2, %p1", 5, 6), 5U);
    EXPECT_EQ(s32("selp.b32 %r4, %r1, %r2, %p1", 0, 6), 6U);
    EXPECT_TRUE(predicate("testp.subnormal.f32 %p4, %f1", bits(subnormal)));
    EXPECT_FALSE(predicate("testp.finite.f32 %p4, %f1", bits(infinity)));
    EXPECT_TRUE(predicate("testp.notanumber.f64 %p4, %fd1", bits(double(nan_))));
}

TEST(Instructions, ConversionsToIntegers) {
    const auto to = [](const std::string &form, float value) {
        return int32_t(s32("cvt." + form + " %r4, %f1", int64_t(bits(value))));
    };
    EXPECT_EQ(to("rni.s32.f32", 2.5f), 2);
    EXPECT_EQ(to("rni.s32.f32", 3.5f), 4);
    EXPECT_EQ(to("rzi.s32.f32", -2.7f), -2);
    EXPECT_EQ(to("rmi.s32.f32", -2.1f), -3);
    EXPECT_EQ(to("rpi.s32.f32", -2.7f), -2);
    EXPECT_EQ(to("rzi.s32.f32", nan_), 0);
    EXPECT_EQ(to("rzi.s32.f32", 3e9f), INT32_MAX);
    EXPECT_EQ(to("rzi.s32.f32", -infinity), INT32_MIN);
    EXPECT_EQ(to("rzi.u32.f32", -1.0f), 0);
    EXPECT_EQ(to("rmi.s32.f32", -subnormal), -1);
    EXPECT_EQ(to("rmi.ftz.s32.f32", -subnormal), 0);
    EXPECT_EQ(bits_of("%rd4", "cvt.rzi.s64.f32 %rd4, %f1;\n", bits(nan_)), uint64_t(1) << 63);
    EXPECT_EQ(bits_of("%rd4", "cvt.rzi.u64.f64 %rd4, %fd1;\n", bits(1.8e19)),
              18000000000000000000U);
    EXPECT_EQ(bits_of("%rs4", "cvt.rzi.s8.f32 %rs4, %f1;\n", bits(200.0f)), 127U);
    EXPECT_EQ(s32("cvt.s32.s8 %r4, %r1", 0xFF), 0xFFFFFFFFU);
    EXPECT_EQ(s32("cvt.u32.u8 %r4, %r1", 0x1FF), 0xFFU);
    EXPECT_EQ(bits_of("%rd4", "cvt.s64.s32 %rd4, %r1;\n", uint64_t(-3)), uint64_t(-3));
    EXPECT_EQ(bits_of("%rd4", "cvt.u64.u32 %rd4, %r1;\n", uint64_t(-3)), 0xFFFFFFFDU);
    EXPECT_EQ(s32("cvt.sat.s8.s32 %r4, %r1", 200), 127U);
    EXPECT_EQ(s32("cvt.sat.u8.s32 %r4, %r1", -5), 0U);
    EXPECT_EQ(s32("cvt.u32.u64 %r4, %rd1", 0x123456789ALL), 0x3456789AU);
}

TEST(Instructions, ConversionsToFloats) {
    const auto from_s32 = [](const std::string &rounding, int32_t value) {
        return bits_of("%f4", "cvt." + rounding + ".f32.s32 %f4, %r1;\n", uint64_t(value));
    };
    EXPECT_EQ(from_s32("rn", 16777217), bits(16777216.0f));
    EXPECT_EQ(from_s32("rp", 16777217), bits(16777218.0f));
    EXPECT_EQ(from_s32("rz", -16777219), bits(-16777218.0f));
    EXPECT_EQ(from_s32("rm", -16777217), bits(-16777218.0f));
    EXPECT_EQ(bits_of("%f4", "cvt.rn.f32.u32 %f4, %r1;\n", 0xFFFFFFFF), bits(4294967296.0f));
    EXPECT_EQ(bits_of("%fd4", "cvt.rn.f64.s64 %fd4, %rd1;\n", uint64_t(-5)), bits(-5.0));
    EXPECT_EQ(bits_of("%fd4", "cvt.f64.f32 %fd4, %f1;\n", bits(subnormal)),
              bits(double(subnormal)));
    EXPECT_EQ(bits_of("%fd4", "cvt.ftz.f64.f32 %fd4, %f1;\n", bits(subnormal)), bits(0.0));
    const auto from_f64 = [](const std::string &rounding, double value) {
        return bits_of("%f4", "cvt." + rounding + ".f32.f64 %f4, %fd1;\n", bits(value));
    };
    EXPECT_EQ(from_f64("rn", 0.1), bits(0.1f));
    EXPECT_EQ(from_f64("rz", 1 - 0x1p-40), bits(0x1.fffffep-1f));
    EXPECT_EQ(from_f64("rp", 1 + 0x1p-40), bits(0x1.000002p0f));
    EXPECT_EQ(from_f64("rm", 1e300), bits(std::numeric_limits<float>::max()));
    EXPECT_EQ(from_f64("rn.ftz", 1e-40), bits(0.0f));
    EXPECT_EQ(bits_of("%rs4", "cvt.rn.f16.f32 %rs4, %f1;\n", bits(65520.0f)), 0x7C00U);
    // Halfway between two f16, and a little more than f32 can hold.
    EXPECT_EQ(bits_of("%rs4", "cvt.rn.f16.f64 %rs4, %fd1;\n", bits(1 + 0x1p-11 + 0x1p-40)),
              0x3C01U);
    EXPECT_EQ(bits_of("%rs4", "cvt.rn.bf16.f32 %rs4, %f1;\n", bits(1.00390625f)), 0x3F80U);
    EXPECT_EQ(bits_of("%f4", "cvt.f32.f16 %f4, %rs1;\n", 0x0001), bits(0x1p-24f));
}

TEST(Instructions, RoundingToWholeNumbers) {
    EXPECT_EQ(f32("cvt.rni.f32.f32", 2.5f), bits(2.0f));
    EXPECT_EQ(f32("cvt.rzi.f32.f32", -0.5f), bits(-0.0f));
    EXPECT_EQ(f32("cvt.rmi.f32.f32", -subnormal), bits(-1.0f));
    EXPECT_EQ(f32("cvt.rmi.ftz.f32.f32", -subnormal), bits(-0.0f));
    EXPECT_EQ(f32("cvt.rpi.ftz.f32.f32", subnormal), bits(0.0f));
    EXPECT_EQ(f32("cvt.rpi.f32.f32", 0.25f), bits(1.0f));
    EXPECT_EQ(f32("cvt.sat.f32.f32", 2.5f), bits(1.0f));
    EXPECT_EQ(bits_of("%fd4", "cvt.rmi.f64.f64 %fd4, %fd1;\n", bits(-1e-310)), bits(-1.0));
}

TEST(Instructions, MovesAndVectors) {
    EXPECT_EQ(f32("mov.f32 %f1, 0f3F800000;\nadd.f32", 5.0f, 2.0f), bits(3.0f));
    EXPECT_EQ(bits_of("%rd4", "mov.b64 %rd4, {%r1, %r2};\n", 1, 2), 0x200000001ULL);
    EXPECT_EQ(bits_of("%r4", "mov.b64 {_, %r4}, %rd1;\n", 0x200000001ULL), 2U);
    EXPECT_EQ(bits_of("%rd4", "mov.b64 %rd4, {%rs1, %rs2, %rs1, %rs3};\n", 1, 2, 3),
              0x0003000100020001ULL);
    EXPECT_EQ(
        bits_of("%r4", "mov.b32 {%rs2, %rs3}, %r1;\nmov.b32 %r4, {%rs3, %rs2};\n", 0x11223344),
        0x33441122U);
    EXPECT_EQ(bits_of("%r4", "mov.u32 %r4, %ntid.x;\n", 0), 1U);
}

TEST(Instructions, LoadsAndStoresOfEachWidth) {
    const std::string text = module_of(R"(
    ld.param.u64 %rd1, [p0];
    ld.param.u64 %rd2, [p1];
    cvta.to.global.u64 %rd3, %rd1;
    ld.global.nc.s8 %rs1, [%rd3+1];
    st.global.u16 [%rd2], %rs1;
    ld.global.u8 %r1, [%rd3+1];
    st.global.u32 [%rd2+4], %r1;
    ld.global.v4.u32 {%r1, %r2, _, %r3}, [%rd3];
    st.global.v2.u32 [%rd2+8], {%r3, %r2};
    ld.global.f64 %fd1, [%rd3+8];
    st.global.f64 [%rd2+16], %fd1;
    ld.param.u32 %r5, [p2+4];
    st.global.u32 [%rd2+24], %r5;
    ld.const.u32 %r6, [table+4];
    st.global.u32 [%rd2+28], %r6;
)",
                                       ".const .align 4 .b32 table[2] = {8, 9};\n");
    KernelRun run(text);
    run.add(std::vector<uint32_t>{0x1180, 0x22, 0x33, 0x44});
    const uint64_t to = run.add_unwritten(32);
    run.add_value(0xABCD00000000);
    // 2 bytes are never written.
    run.launch({});
    const std::vector<uint32_t> got = run.values<uint32_t>(to);
    EXPECT_EQ(got[0] & 0xFFFF, 0x11U);
    EXPECT_EQ(std::vector<uint32_t>(got.begin() + 1, got.end()),
              (std::vector<uint32_t>{0x11, 0x44, 0x22, 0x33, 0x44, 0xABCD, 9}));
}

TEST(Instructions, WhatTheMachineLacksIsRefusedByName) {
    EXPECT_EQ(refusal("ex2.approx.f32 %f1, %f2;"),
              "[ptx] line 12: ex2.approx.f32 is not supported");
    for (const char *text : {"div.full.f32 %f1, %f2, %f3;",
                             "sqrt.approx.f32 %f1, %f2;",
                             "add.rz.f32 %f1, %f2, %f3;",
                             "ld.u32 %r1, [%rd1];",
                             "atom.global.add.u32 %r1, [%rd1], 1;",
                             "cvt.f32.s32 %f1, %r1;",
                             "setp.lo.s32 %p1, %r1, %r2;",
                             "mul.s32 %r1, %r2, %r3;",
                             "call f;",
                             "bar.sync 1;",
                             "shfl.sync.bfly.b32 %r1, %r2, 1, 31, -1;",
                             "ld.volatile.global.u32 %r1, [%rd1];",
                             "mul.ftz.f64 %fd1, %fd2, %fd3;",
                             "bra nowhere;",
                             "add.f32 %f1, %f2;",
                             "ld.param.u64 %rd1, [p9];",
                             "ld.param.u64 %rd1, [p0+4];",
                             "mov.u32 %r1, %clock;",
                             "mov.u32 %r1, %r99;",
                             "@%r1 ret;",
                             "st.global.v2.f32 [%rd1], %f1;"}) {
        EXPECT_TRUE(refusal(text).starts_with("[ptx] line 12: ")) << text << refusal(text);
    }
}

}  // namespace
}  // namespace halyard::ptx
