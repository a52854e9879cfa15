// Compares the work counted from the definitions with arithmetic by hand.
#include "dsl/work.h"

#include <gtest/gtest.h>

#include "bench/harness/case.h"
#include "dsl/all_ops.h"
#include "registry/dispatch/plan.h"
#include "registry/op/names.h"

namespace halyard {
namespace {

Dims dims_of(const OpRecord &op, const std::string &problem) {
    const check::Sample s = check::parse_sample(op, problem);
    Dims dims = s.dims;
    bind_attributes(Attrs(op, s.attrs), dims);
    bind_derived(op, dims);
    return dims;
}
const OpTable &all_ops() {
    list_kit_ops();
    return op_table();
}
Work work(const std::string &op, const std::string &problem) {
    return work_of(all_ops(), op, dims_of(*all_ops().make(op), problem));
}

TEST(Work, MatmulIsTwoMNK) {
    for (auto [g, m, k, n] :
         {std::array<int64_t, 4>{1, 512, 512, 512}, {3, 37, 41, 13}, {1, 1, 1, 1}}) {
        const std::string size = "g=" + std::to_string(g) + " m=" + std::to_string(m) +
                                 " k=" + std::to_string(k) + " n=" + std::to_string(n);
        for (const std::string more : {"", " transpose_a=1", " transpose_b=1"}) {
            const Work w = work("matmul", size + more);
            EXPECT_EQ(w.operations(), 2 * g * m * n * k) << size << more;
            EXPECT_EQ(w.read.at("a"), g * m * k);
            EXPECT_EQ(w.read.at("b"), g * k * n);
            EXPECT_EQ(w.written.at("c"), g * m * n);
            EXPECT_TRUE(w.functions.empty());
        }
    }
    const OpPtr op = all_ops().make("matmul");
    for (auto &v : op->variants) {  // The variants differ in their schedules only.
        const OpPtr fresh = all_ops().make("matmul");
        EXPECT_EQ(work_of(*fresh, dims_of(*op, "g=1 m=96 k=20 n=96"), v.name, 16).operations(),
                  2 * 96 * 20 * 96)
            << v.name;
    }
}

TEST(Work, ConvolutionIsTwoPerTap) {
    const auto expected = [](int64_t n, int64_t o, int64_t oh, int64_t ow, int64_t c, int64_t group,
                             int64_t kh,
                             int64_t kw) { return 2 * n * o * oh * ow * c / group * kh * kw; };
    EXPECT_EQ(work("conv2d", "n=2 c=6 h=9 w=11 o=8 u=3 v=2").operations(),
              expected(2, 8, 7, 10, 6, 1, 3, 2));
    EXPECT_EQ(work("conv2d", "n=1 c=4 h=12 w=10 o=6 u=3 v=3 stride=2,3 group=2").operations(),
              expected(1, 6, 5, 3, 4, 2, 3, 3));
    EXPECT_EQ(work("conv2d", "n=1 c=4 h=12 w=10 o=6 u=3 v=3 dilation=2,2").operations(),
              expected(1, 6, 8, 6, 4, 1, 3, 3));
    // Winograd needs fewer.
    const OpPtr op = all_ops().make("conv2d");
    const Dims dims = dims_of(*op, "n=1 c=64 h=56 w=56 o=64 u=3 v=3 pad_mode=same");
    EXPECT_EQ(work_of(all_ops(), "conv2d", dims).operations(),
              expected(1, 64, 56, 56, 64, 1, 3, 3));
    EXPECT_LT(work_of(*op, dims, "winograd", 16).operations(),
              expected(1, 64, 56, 56, 64, 1, 3, 3) * 5 / 8);
}

TEST(Work, CountsOnlyElementsReadByStrides) {
    const Work w = work("conv2d", "n=1 c=4 h=9 w=9 o=2 u=1 v=1 stride=2,2");
    EXPECT_EQ(w.read.at("x"), 4 * 5 * 5);
    // Reads columns 0 1, 3 4 and 6 7.
    const Work two = work("conv2d", "n=1 c=4 h=9 w=10 o=2 u=1 v=2 stride=1,3");
    EXPECT_EQ(two.read.at("x"), 4 * 9 * 6);
    EXPECT_EQ(two.read.at("weight"), 4 * 2 * 2);
}

TEST(Work, ListsFunctionsByName) {
    const Work w = work("softmax", "n=10 c=7");
    // Each element has a maximum, a subtraction, an exp, an addition and a multiplication; each row
    // a division.
    EXPECT_EQ(w.arithmetic, 10 * 7 * 4 + 10);
    EXPECT_EQ(w.functions, (std::map<std::string, int64_t>{{"exp_nonpositive", 70}}));
    EXPECT_EQ(w.operations(), 10 * 7 * 5 + 10);
    EXPECT_EQ(work("gelu", "d0=2 d1=3 d2=4").functions,
              (std::map<std::string, int64_t>{{"gelu", 24}}));
}

TEST(Work, CopiesCountNoArithmetic) {
    const Work w = work("copy", "d0=2 d1=3 d2=5");
    EXPECT_EQ(w.operations(), 0);
    EXPECT_EQ(w.read.at("x"), 30);
    EXPECT_EQ(w.written.at("y"), 30);
    EXPECT_EQ(work("one_hot", "n=32 depth=10").operations(), 0);
    EXPECT_EQ(work("avg_pool2d_dx", "n=1 c=1 h=8 w=8 kernel_size=2,2 stride=2,2").read.at("x"), 0)
        << "x is there for its shape alone";
}

// y(x) = sum of in(k) over k <= x: the predicate makes the range depend on x.
struct Triangle : Op {
    Triangle() : Op("triangle", "x[n] -> y[n]") {}
    Func x = input("x");
    Func y = output("y");
    Func sum{"sum"};
    void algorithm() override {
        Var i("i");
        RDom k(0, size("n"));
        k.where(k <= i);
        sum(i) += x(k);
        y(i) = sum(i) * 2_r;
    }
    void reference(Problem &) const override {}
};

TEST(Work, CountsPredicates) {
    Triangle op;
    const Work w = work_of(op, {{"n", 100}}, "");
    EXPECT_EQ(w.operations(), 100 * 101 / 2 + 100);
    EXPECT_EQ(w.read.at("x"), 100);
}

// Indices select rows of a table, and a square is written twice.
struct Pick : Op {
    Pick() : Op("pick", "table[rows,c] at:i32[n] -> y[n,c]") {}
    Func table = input("table"), at = input("at");
    Func y = output("y");
    void algorithm() override {
        Var c("c"), n("n");
        const Expr v = table(c, clamp(at(n), 0, size("rows") - 1));
        y(c, n) = (v + 1_r) * (v + 1_r) + abs(v);
    }
    void reference(Problem &) const override {}
};

// Trees of sums have few more additions than elements, however large the bounds of their levels
// are.
TEST(Work, SumsAreOnePerElement) {
    for (auto [problem, elements] : {std::pair{"o=1 r=1 i=1 s=4194304 axis=1,3", 4194304.0},
                                     {"o=1 r=32 i=64 s=3136 axis=1,3", 32.0 * 64 * 3136}}) {
        const double n = double(work("reduce_sum", problem).operations());
        EXPECT_GE(n, elements) << problem;
        EXPECT_LE(n, 1.15 * elements) << problem;
    }
}

TEST(Work, GathersReadAtMostOneRowPerIndex) {
    Pick few, many;
    const Work w = work_of(few, {{"rows", 1000}, {"c", 8}, {"n", 5}}, "");
    EXPECT_EQ(w.read.at("table"), 5 * 8);
    EXPECT_EQ(w.read.at("at"), 5);
    EXPECT_EQ(w.operations(), 5 * 8 * 4) << "v + 1, its square, abs, the sum";
    EXPECT_EQ(work_of(many, {{"rows", 3}, {"c", 8}, {"n", 50}}, "").read.at("table"), 3 * 8);
}

TEST(Work, EveryOpAndVariantCanBeCounted) {
    int counted = 0;
    for (auto &name : all_ops().names()) {
        const OpPtr op = all_ops().make(name);
        if (op->form == Form::composite || op->samples.empty()) continue;
        const Dims dims = dims_of(*op, op->samples.back());
        for (auto &v : op->variants) {
            const OpPtr fresh = all_ops().make(name);
            const Work w = work_of(*fresh, dims, v.name, 8);
            int64_t written = 0;
            for (auto &[tensor, elements] : w.written)
                written += elements;
            EXPECT_GT(written, 0) << name << "/" << v.name;
            counted++;
        }
    }
    EXPECT_GT(counted, 150);
}

}  // namespace
}  // namespace halyard
