// The kernel of images of another size. Every output is a weighted sum of few inputs per axis; their
// places and weights are tables that primitives/composites/resize.cpp makes in double, so one kernel
// serves all modes and all gradients.
#include <cmath>

#include "dsl/op.h"

namespace halyard {
namespace {

using Halide::clamp;
using Halide::Expr;

constexpr int task_elements = 16384;

// y[n,i,j] = the sum over a, b of row_weight[a,i] column_weight[b,j] x[n,row[a,i],column[b,j]].
// What has weight 0 isn't read: its infinities and NaN go nowhere.
struct Resize : Op {
    Resize()
        : Op("resize_kernel", "x[n,h,w] row:i32[a,p] row_weight:f64[a,p] column:i32[b,q] "
                              "column_weight:f64[b,q] -> y[n,p,q]") {
        internal = true;
        let("row_end", "h");
        let("column_end", "w");
        conditions = {"h>0", "w>0"};
        variants = {{"two", "a==2 b==2"}, {"", ""}};
        samples = {"n=1 h=1 w=1 a=1 p=1 b=1 q=1",   "n=2 h=3 w=5 a=2 p=7 b=2 q=9",
                   "n=3 h=4 w=7 a=4 p=5 b=4 q=16",  "n=1 h=9 w=33 a=2 p=3 b=2 q=65",
                   "n=2 h=5 w=17 a=3 p=2 b=1 q=31", "n=2 h=65 w=300 a=2 p=70 b=2 q=200"};
        bench = {"n=64 h=56 w=56 a=2 p=112 b=2 q=112", "n=3 h=480 w=640 a=2 p=224 b=2 q=224"};
        contract = {Contract::products, 8};
    }
    Func x = input("x"), row = input("row"), row_weight = input("row_weight"),
         column = input("column"), column_weight = input("column_weight");
    Func y = output("y");
    Func of_row{"of_row"}, of_column{"of_column"}, rows{"rows"}, sum{"sum"};
    Var i{"i"}, j{"j"}, n{"n"}, t{"t"};
    RDom down, across;

    static Expr weighted(const Expr &weight, const Expr &value) {
        return select(weight == 0_r, 0_r, weight * value);
    }
    void algorithm() override {
        const bool two = variant == "two";
        down = RDom(0, two ? 2 : size("a"));
        across = RDom(0, two ? 2 : size("b"));
        of_row(i, t) = row_weight(i, t);
        of_column(j, t) = column_weight(j, t);
        rows(j, i, n) = 0_r;
        rows(j, i, n) += weighted(of_row(i, down), x(j, clamp(row(i, down), 0, size("h") - 1), n));
        sum(j, i, n) = 0_r;
        sum(j, i, n) += weighted(of_column(j, across),
                                 rows(clamp(column(j, across), 0, size("w") - 1), i, n));
        y(j, i, n) = sum(j, i, n);
    }
    // A row of x in the output's place first, in L1; then its columns.
    void schedule(const Cpu &cpu) override {
        Func last = store();
        Var vec("vec"), lane("lane"), line("line"), task("task");
        of_row.compute_root();
        of_column.compute_root().vectorize(j, cpu.lanes, Tail::GuardWithIf);
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
        if (variant == "two") {
            rows.update().reorder(down, j).unroll(down);
            sum.update().unroll(across);
        }
    }
    void reference(Problem &p) const override {
        p("y") = Array(p("y").shape);
        Array &terms = p.abs_sum["y"] = Array(p("y").shape);
        for (int64_t k = 0; k < p["n"]; k++) {
            for (int64_t i = 0; i < p["p"]; i++) {
                for (int64_t j = 0; j < p["q"]; j++) {
                    for (int64_t b = 0; b < p["b"]; b++) {
                        if (p("column_weight")(b, j) == 0) continue;
                        double column = 0, size = 0;
                        for (int64_t a = 0; a < p["a"]; a++) {
                            if (p("row_weight")(a, i) == 0) continue;
                            const double term = p("row_weight")(a, i) *
                                                p("x")(k, int64_t(p("row")(a, i)),
                                                       int64_t(p("column")(b, j)));
                            column += term;
                            size += std::fabs(term);
                        }
                        p("y")(k, i, j) += p("column_weight")(b, j) * column;
                        terms(k, i, j) += std::fabs(p("column_weight")(b, j)) * size;
                    }
                }
            }
        }
    }
};

}  // namespace

HALYARD_OPS {
    ops.add<Resize>();
}

}  // namespace halyard
