// Tests which loops become matrix instructions, by the calls that stand in the lowered statement.
#include "dsl/matrix_tiles.h"

#include <gtest/gtest.h>

#include <sstream>

namespace halyard {
namespace {

using Halide::Expr, Halide::Func, Halide::RDom, Halide::Type, Halide::Var;

// c[i][j] += a[i][group k + q] * b[k][j][q], a strip of rows of c at a time.
struct Product {
    Type a_type = Halide::BFloat(16), b_type = a_type, c_type = Halide::Float(32);
    int group = 2;
    int columns = tile_columns;
    bool adds_b_first = false;

    std::string lowered() const {
        Halide::ImageParam a(a_type, 2, "a");
        Halide::ImageParam b(b_type, 3, "b");
        b.dim(0).set_bounds(0, group);
        b.dim(1).set_stride(group);
        b.dim(2).set_stride(group * columns);
        Var i("i"), j("j"), strip("strip"), row("row");
        Func c("c"), sum("sum");
        const RDom k(0, group, 0, b.dim(2).extent());
        const Expr x = cast(c_type, a(group * k.y + k.x, i));
        const Expr y = cast(c_type, b(k.x, j, k.y));
        sum(j, i) = cast(c_type, 0);
        sum(j, i) += adds_b_first ? y + x : x * y;
        c(j, i) = sum(j, i);
        c.bound(j, 0, columns);
        sum.compute_root();
        sum.update()
            .split(i, strip, row, 100, Halide::TailStrategy::GuardWithIf)
            .reorder(k.x, j, row, k.y, strip);
        Halide::Pipeline p(c);
        use_matrix_tiles(p);
        std::ostringstream text;
        const Halide::Module m = p.compile_to_module({a, b}, "product",
                                                     Halide::Target("x86-64-linux-no_runtime"));
        for (const auto &f : m.functions())
            text << f.body;
        return text.str();
    }
};

TEST(MatrixTiles, CallTheFunctionOfTheirTypes) {
    EXPECT_NE(Product{}.lowered().find("halyard_tile_product_bf16("), std::string::npos);
    const Product integers = {Halide::UInt(8), Halide::Int(8), Halide::Int(32), 4};
    EXPECT_NE(integers.lowered().find("halyard_tile_product_u8i8("), std::string::npos);
}

TEST(MatrixTiles, LeaveNoLoopOverColumns) {
    EXPECT_EQ(Product{}.lowered().find("for (sum.s1.j"), std::string::npos);
}

TEST(MatrixTiles, RefuseWhatTheInstructionsDoNotCompute) {
    EXPECT_THROW((Product{.columns = 16}.lowered()), Halide::CompileError);
    EXPECT_THROW((Product{.group = 4}.lowered()), Halide::CompileError);
    EXPECT_THROW((Product{.adds_b_first = true}.lowered()), Halide::CompileError);
    EXPECT_THROW((Product{.a_type = Halide::Float(16)}.lowered()), Halide::CompileError);
    const Product signed_a = {Halide::Int(8), Halide::Int(8), Halide::Int(32), 4};
    EXPECT_THROW(signed_a.lowered(), Halide::CompileError);
}

}  // namespace
}  // namespace halyard
