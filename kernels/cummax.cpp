// Running maxima and minima along an axis, with the places they stand at. As in scan.cpp blocks of 16 are scanned in vectors, and the
// blocks' results then run from block to block. An extremum rounds nothing, so any order gives the same bits.
#include <cmath>

#include "dsl/op.h"

namespace halyard {
namespace {

using Halide::Expr;
using Halide::Tuple;

constexpr int block = 16, steps = 4, task_elements = 32768;

// NaN wins, and stays; of equal elements the last one is told, as in PyTorch and MindSpore.
struct RunningExtremum : Op {
    const bool largest;
    explicit RunningExtremum(bool is_largest) : Op(is_largest ? "cummax" : "cummin", "x[..n,c] -> y[..n,c] index:i32[..n,c]"), largest(is_largest) {
        doc = std::string("y = ") + (largest ? "largest" : "smallest") + " x so far along axis, index = the last place where it stands; NaN wins and stays";
        attr("axis", -1);
        attrs.back().at_call = true;
        axis = "c";
        dtypes = {"f32", "f16", "bf16", "f64", "i64", "i32"};
        samples = {"n=1 c=1", "n=3 c=7", "n=5 c=16", "n=7 c=17", "n=33 c=31", "n=2 c=15", "n=1 c=2053"};
        bench = {"n=4096 c=1024", "n=1 c=4194304"};
        contract = {Contract::elementwise, 0};
    }
    Func x = input("x"), y = output("y"), index = output("index"), level[steps + 1], totals{"totals"}, running{"running"};
    Var c{"c"}, n{"n"}, u{"u"}, b{"b"};
    RDom k;

    // `after` stands behind `a` in the row.
    Tuple extremum(const Tuple &a, const Tuple &after) const {
        const Expr take = (largest ? after[0] >= a[0] : after[0] <= a[0]) || math::is_nan(after[0]);
        return {select(take, after[0], a[0]), select(take, after[1], a[1])};
    }
    void algorithm() override {
        const Expr at = b * block + u, last = size("c") - 1;
        for (int l = 0; l <= steps; l++) level[l] = Func("step" + std::to_string(l));
        level[0](u, b, n) = Tuple(x(min(at, last), n), min(at, last));
        for (int l = 0; l < steps; l++) {
            const int by = 1 << l;
            const Tuple own = level[l](u, b, n), best = extremum(level[l](max(u - by, 0), b, n), own);
            level[l + 1](u, b, n) = Tuple(select(u >= by, best[0], own[0]), select(u >= by, best[1], own[1]));
        }
        k = RDom(1, max(0, (size("c") + block - 1) / block - 1));
        totals(b, n) = Tuple(x(0, n), 0);  // before the first block: its first element, which nothing precedes
        totals(k, n) = extremum(totals(k - 1, n), level[steps](block - 1, k - 1, n));
        running(c, n) = extremum(totals(c / block, n), level[steps](c % block, c / block, n));
        y(c, n) = running(c, n)[0];
        index(c, n) = running(c, n)[1];
    }
    // Both outputs in one loop over rows: each row's scan is computed once for them.
    void schedule(const Cpu &cpu) override {
        Var task("task"), row("row"), vec("vec"), lane("lane");
        for (Func &f : out) {
            f.compute_root().split(n, task, row, max(1, task_elements / max(1, size("c"))), Tail::GuardWithIf).parallel(task);
            f.split(c, vec, lane, cpu.lanes, Tail::GuardWithIf).vectorize(lane);
        }
        index.compute_with(y, row);
        const int v = std::min(cpu.lanes, block);
        running.compute_at(y, row).split(c, vec, lane, cpu.lanes, Tail::RoundUp).vectorize(lane);
        totals.compute_at(y, row);
        level[steps].compute_at(y, row).bound_extent(u, block).vectorize(u, v);
        for (int l = 0; l < steps; l++) level[l].compute_at(level[steps], b).bound_extent(u, block).vectorize(u, v);
    }
    void reference(Problem &p) const override {
        for (int64_t i = 0; i < p["n"]; i++) {
            int64_t best = 0;
            for (int64_t j = 0; j < p["c"]; j++) {
                const double v = p("x")(i, j), most = p("x")(i, best);
                if (std::isnan(v) || (largest ? v >= most : v <= most)) best = j;
                p("y")(i, j) = p("x")(i, best), p("index")(i, j) = (double)best;
            }
        }
    }
};

}  // namespace

HALYARD_OPS {
    ops.add<RunningExtremum>(true);
    ops.add<RunningExtremum>(false);
}

}  // namespace halyard
