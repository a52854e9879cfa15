// Tests which reductions a warp's threads share on a GPU, and which kernels share rows.
#include "dsl/gpu/row_kernels.h"

#include <gtest/gtest.h>

namespace halyard::gpu {
namespace {

using Halide::Expr;
using Halide::Float;
using Halide::Func;
using Halide::ImageParam;
using Halide::Int;
using Halide::RDom;
using Halide::Tuple;
using Halide::Var;
using Halide::Internal::Function;

struct RowKernels : testing::Test {
    ImageParam x{Float(32), 2, "x"}, scale{Float(32), 1, "scale"}, places{Int(32), 1, "places"};
    Var c{"c"}, n{"n"};
    RDom k{0, x.dim(0).extent(), "k"};
    Func f{"f"}, y{"y"};

    static Functions environment(const Func &output) {
        return Halide::Internal::build_environment({output.function()});
    }
    // Returns the name of the loop, without its domain's; "" for none.
    std::string loop() {
        const auto found = row_loop(f.function(), environment(f));
        return found ? found->substr(found->find('$') + 1) : "";
    }
    bool shares(const std::vector<Func> &reductions) {
        std::vector<Function> functions;
        for (const Func &r : reductions)
            functions.push_back(r.function());
        return shares_rows(y.function(), functions, environment(y));
    }
};

TEST_F(RowKernels, RowsAreReducedAlongMemory) {
    f(n) += x(k, n);
    EXPECT_EQ(loop(), "x");
}

TEST_F(RowKernels, ColumnsAreNot) {
    f(n) += x(n, k);
    EXPECT_EQ(loop(), "");
}

TEST_F(RowKernels, AColumnAmongRowsDecides) {
    f(n) += x(k, n) * x(n, k);
    EXPECT_EQ(loop(), "");
}

TEST_F(RowKernels, LoadsOfFuncsWithoutUpdatesCount) {
    Func of_row("of_row"), transposed("transposed");
    of_row(c, n) = x(c, n) * scale(c);
    f(n) += of_row(k, n);
    EXPECT_EQ(loop(), "x");
    transposed(n, c) = x(c, n);
    f = Func("g");
    f(n) += transposed(n, k);
    EXPECT_EQ(loop(), "x");
    f = Func("h");
    f(n) += transposed(k, n);
    EXPECT_EQ(loop(), "");
}

TEST_F(RowKernels, WhatDoesNotMoveWithTheTermsDoesNotCount) {
    f(n) += x(k, n) * scale(n);
    EXPECT_EQ(loop(), "x");
}

TEST_F(RowKernels, TheInnerOneOfTwoLoopsCounts) {
    const RDom both(0, 3, 0, x.dim(0).extent(), "both");
    f(n) += x(both.y, n + both.x);
    EXPECT_EQ(loop(), "y");
}

TEST_F(RowKernels, WindowsAreNoRows) {
    f(n) += scale(n + k);
    EXPECT_EQ(loop(), "");
}

TEST_F(RowKernels, TermsInAnyOrderOnly) {
    f(n) = 0.0f;
    f(n) = f(n) * 0.5f + x(k, n);
    EXPECT_EQ(loop(), "");
}

TEST_F(RowKernels, OneUpdateOnly) {
    f(n) += x(k, n);
    f(n) += scale(n);
    EXPECT_EQ(loop(), "");
}

TEST_F(RowKernels, TuplesHaveRowsToo) {
    f(n) = Tuple(0.0f, 0.0f);
    f(n) = Tuple(f(n)[0] + x(k, n), f(n)[1] + x(k, n) * x(k, n));
    EXPECT_EQ(loop(), "x");
}

TEST_F(RowKernels, AnOutputSharesTheRowsOfItsReductions) {
    Func peak("peak"), total("total");
    peak(n) = Float(32).min();
    peak(n) = Halide::max(peak(n), x(k, n));
    total(n) += Halide::exp(x(k, n) - peak(n));
    y(c, n) = Halide::exp(x(c, n) - peak(n)) / total(n);
    EXPECT_TRUE(shares({peak, total}));
    EXPECT_FALSE(shares({peak})) << "total has updates, too";
}

TEST_F(RowKernels, AnOutputOfOneNumberARowSharesThem) {
    f(n) += x(k, n);
    y(n) = f(n) * scale(n);
    EXPECT_TRUE(shares({f}));
}

TEST_F(RowKernels, NoOutputSharesTheRowsOfOthers) {
    f(n) += x(k, n);
    y(c, n) = x(c, n) - f(n + 1);
    EXPECT_FALSE(shares({f}));
    y = Func("of_columns");
    y(n, c) = x(n, c) - f(n);
    EXPECT_FALSE(shares({f})) << "its first dimension is not along the rows";
    y = Func("of_places");
    y(c, n) = x(c, n) - f(Halide::clamp(places(n), 0, 3));
    EXPECT_FALSE(shares({f}));
}

TEST_F(RowKernels, AnOutputWithUpdatesSharesNone) {
    f(n) += x(k, n);
    y(c, n) = f(n);
    y(0, n) += 1.0f;
    EXPECT_FALSE(shares({f}));
}

}  // namespace
}  // namespace halyard::gpu
