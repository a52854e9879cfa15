#include "dsl/gpu/exact_ptx.h"

#include <gtest/gtest.h>

#include "dsl/all_ops.h"
#include "dsl/gpu/gpu_kernels.h"
#include "dsl/kernel.h"
#include "dsl/lower.h"
#include "kernels/elementwise/elementwise.h"

namespace halyard::gpu {
namespace {

TEST(ExactPtx, RoundsExplicitlyAndKeepsSubnormals) {
    EXPECT_EQ(exact_ptx("\tmul.f32 \t%f1, %f2, %f3;\n"
                        "@%p1 add.f64 %fd1, %fd2, %fd3;\n"
                        "\tsub.f32\t%f1, %f2, %f3;\n"
                        "\tfma.rn.f32 %f1, %f2, %f3, %f4;\n"
                        "\tadd.rn.f32 %f1, %f2, %f3;\n"
                        "\tadd.s32 %r1, %r2, %r3;\n"
                        "\tcvt.rmi.ftz.f32.f32 %f1, %f2;\n"
                        "\tadd.ftz.f32 %f1, %f2, %f3;\n",
                        {}),
              "\tmul.rn.f32 \t%f1, %f2, %f3;\n"
              "@%p1 add.rn.f64 %fd1, %fd2, %fd3;\n"
              "\tsub.rn.f32\t%f1, %f2, %f3;\n"
              "\tfma.rn.f32 %f1, %f2, %f3, %f4;\n"
              "\tadd.rn.f32 %f1, %f2, %f3;\n"
              "\tadd.s32 %r1, %r2, %r3;\n"
              "\tcvt.rmi.f32.f32 %f1, %f2;\n"
              "\tadd.rn.f32 %f1, %f2, %f3;\n");
}

TEST(ExactPtx, StatesTheThreadsOfABlock) {
    const std::string kernel = "(\n\t.param .u64 p\n)\n{\n\tret;\n}\n";
    EXPECT_EQ(
        exact_ptx(".visible .entry a" + kernel + ".visible .entry b" + kernel, {{"b", {16, 8, 1}}}),
        ".visible .entry a" + kernel +
            ".visible .entry b(\n\t.param .u64 p\n)\n.maxntid 16, 8, 1\n{\n\tret;\n}\n");
}

TEST(ExactPtx, IsWhatAKernelIsCompiledTo) {
    list_kit_ops();
    const auto ptx = [](const std::string &op) {
        Instance i;
        i.backend = "cuda";
        i.variant = variants(*op_table().make(op)).back();
        Kernel k(op_table().make(op), i);
        return text_of(k, "ptx", "");
    };
    const std::string floor = ptx("floor");
    EXPECT_NE(floor.find("cvt.rmi.f32.f32"), std::string::npos) << floor;
    EXPECT_NE(floor.find(".maxntid 64, 1, 1"), std::string::npos) << floor;
    EXPECT_NE(ptx("sub").find("sub.rn.f32"), std::string::npos);
}

// y = a b + c, with the product and the sum rounded each.
struct TwoRoundings : Elementwise {
    TwoRoundings() : Elementwise("two_roundings", "a[*] b[*] c[*] -> y[*]") {}
    Func a = input("a"), b = input("b"), c = input("c");
    Func y = output("y");
    void algorithm() override {
        using Halide::_;
        y(_) = strict_float(a(_) * b(_) + c(_));
    }
    void reference(Problem &) const override {}
};

// LLVM fused them.
TEST(ExactPtx, StrictSumsTakeNoPartInAFusedProduct) {
    Instance i;
    i.backend = "cuda";
    Kernel k(std::make_unique<TwoRoundings>(), i);
    const std::string ptx = text_of(k, "ptx", "");
    EXPECT_NE(ptx.find("mul.rn.f32"), std::string::npos) << ptx;
    EXPECT_NE(ptx.find("add.rn.f32"), std::string::npos) << ptx;
    EXPECT_EQ(ptx.find("fma"), std::string::npos) << ptx;
}

}  // namespace
}  // namespace halyard::gpu
