// Images of another size: nearest, bilinear, bicubic. Every output is a weighted sum of a few
// inputs per axis. The indices of these inputs and their weights are tables, which
// primitives/composites/layout/resize.cpp computes in double. So one kernel serves all modes and
// gradients.
#include <cmath>

#include "dsl/op.h"

namespace halyard {
namespace {

using Halide::clamp;
using Halide::Expr;

constexpr int task_elements = 16384;

// y[n,i,j] = the sum over a, b of row_weight[a,i] column_weight[b,j] x[n,row[a,i],column[b,j]].
// Elements of weight 0 are ignored even if they are infinite or NaN.
struct Resize : Op {
    Resize()
        : Op("resize_kernel", "x[n,h,w] row:i32[a,p] row_weight:f64[a,p] column:i32[b,q] "
                              "column_weight:f64[b,q] -> y[n,p,q]") {
        internal = true;
        let("row_end", "h");
        let("column_end", "w");
        conditions = {"h>0", "w>0"};
        add({"two",
             Dim("a") == 2 && Dim("b") == 2,
             {.algorithm = [this](const Build &) { define(2, 2); },
              .schedule = [this](const Cpu &cpu) { schedule_two(cpu); }}});
        add({"", DimExpr::always()});
        samples = {"n=1 h=1 w=1 a=1 p=1 b=1 q=1",   "n=2 h=3 w=5 a=2 p=7 b=2 q=9",
                   "n=3 h=4 w=7 a=4 p=5 b=4 q=16",  "n=1 h=9 w=33 a=2 p=3 b=2 q=65",
                   "n=2 h=5 w=17 a=3 p=2 b=1 q=31", "n=2 h=65 w=300 a=2 p=70 b=2 q=200"};
        bench = {"n=64 h=56 w=56 a=2 p=112 b=2 q=112", "n=3 h=480 w=640 a=2 p=224 b=2 q=224"};
        contract = {Contract::products, 8};
    }
    Func x = input("x"), row = input("row"), row_weight = input("row_weight"),
         column = input("column"), column_weight = input("column_weight");
    Func y = output("y");
    Func row_factor{"of_row"}, column_factor{"of_column"};  // the weights, converted
    Func rows{"rows"}, sum{"sum"};  // weighted sums of rows of x; of these along columns
    Var i{"i"}, j{"j"}, n{"n"}, t{"t"};
    RDom down, across;

    static Expr weighted(const Expr &weight, const Expr &value) {
        return select(weight == 0_r, 0_r, weight * value);
    }
    void algorithm() override { define(size("a"), size("b")); }
    // An element is a sum over `a` rows and `b` columns.
    void define(const Expr &a, const Expr &b) {
        down = RDom(0, a);
        across = RDom(0, b);
        row_factor(i, t) = row_weight(i, t);
        column_factor(j, t) = column_weight(j, t);
        rows(j, i, n) = 0_r;
        rows(j, i, n) += weighted(row_factor(i, down),
                                  x(j, clamp(row(i, down), 0, size("h") - 1), n));
        sum(j, i, n) = 0_r;
        sum(j, i, n) += weighted(column_factor(j, across),
                                 rows(clamp(column(j, across), 0, size("w") - 1), i, n));
        y(j, i, n) = sum(j, i, n);
    }
    // Each row of y needs one weighted sum of rows of x, which is computed first and stays in L1.
    // The sums along columns read it. "two" unrolls bilinear interpolation.
    void schedule(const Cpu &cpu) override {
        Func last = store();
        Var vec("vec"), lane("lane"), line("line"), task("task");
        row_factor.compute_root();
        column_factor.compute_root().vectorize(j, cpu.lanes, Tail::GuardWithIf);
        last.split(var(0), vec, lane, cpu.lanes, Tail::GuardWithIf)
            .vectorize(lane)
            .fuse(var(1), var(2), line);
        last.split(line, task, line, max(1, task_elements / max(1, max(size("w"), size("q")))),
                   Tail::GuardWithIf)
            .parallel(task);
        rows.compute_at(last, line).vectorize(j, cpu.lanes, Tail::GuardWithIf);
        rows.update().reorder(j, down).vectorize(j, cpu.lanes, Tail::GuardWithIf);
        sum.compute_at(last, vec).vectorize(j, cpu.lanes, Tail::GuardWithIf);
        sum.update().reorder(j, across).vectorize(j, cpu.lanes, Tail::GuardWithIf);
    }
    void schedule_two(const Cpu &cpu) {
        schedule(cpu);
        rows.update().reorder(down, j).unroll(down);
        sum.update().unroll(across);
    }
    void reference(Problem &p) const override {
        p("y") = Array(p("y").shape);
        Array &abs_sum = p.abs_sum["y"] = Array(p("y").shape);
        for (int64_t k = 0; k < p["n"]; k++) {
            for (int64_t i = 0; i < p["p"]; i++) {
                for (int64_t j = 0; j < p["q"]; j++) {
                    for (int64_t b = 0; b < p["b"]; b++) {
                        const double weight = p("column_weight")(b, j);
                        if (weight == 0) continue;
                        const auto [sum, abs] = column_sum(p, k, i, int64_t(p("column")(b, j)));
                        p("y")(k, i, j) += weight * sum;
                        abs_sum(k, i, j) += std::fabs(weight) * abs;
                    }
                }
            }
        }
    }
    // Returns the weighted sum of the elements of column `column` for row i of y, and the sum of
    // the terms' absolute values.
    static std::pair<double, double> column_sum(Problem &p, int64_t k, int64_t i, int64_t column) {
        double sum = 0, abs_sum = 0;
        for (int64_t a = 0; a < p["a"]; a++) {
            const double weight = p("row_weight")(a, i);
            if (weight == 0) continue;
            const double term = weight * p("x")(k, int64_t(p("row")(a, i)), column);
            sum += term;
            abs_sum += std::fabs(term);
        }
        return {sum, abs_sum};
    }
};

}  // namespace

HALYARD_OPS {
    ops.add<Resize>();
}

}  // namespace halyard
