// The kernel that writes elements to places given by a tensor. It applies the updates in their
// order, so the bits are the same with any number of threads.
#include <cmath>

#include "dsl/op.h"

namespace halyard {
namespace {

using Halide::Expr;

constexpr const char *reductions[] = {"none", "add", "max", "min", "mul"};

// What an element becomes when an update meets it; NaN wins over all numbers.
double met(int64_t reduction, double old, double update) {
    if (reduction == 0) return update;
    if (reduction == 1) return old + update;
    if (reduction == 4) return old * update;
    if (std::isnan(old) || std::isnan(update)) return NAN;
    return reduction == 2 ? std::fmax(old, update) : std::fmin(old, update);
}

// y = x; then y[o,index[m],i] meets updates[o,m,i], for m = 0, 1, ...; an index outside of [0, n)
// meets nothing.
struct Scatter : Op {
    Scatter() : Op("scatter_kernel", "x[o,n,i] index:i32[m] updates[o,m,i] -> y[o,n,i]") {
        internal = true;
        choice("reduction", {std::begin(reductions), std::end(reductions)});
        let("index_end", "n");
        dtypes.insert(dtypes.end(), {"i64", "i32"});
        variants = {{"columns", "i==1"}, {"", ""}};
        samples = {"o=1 n=1 m=1 i=1",
                   "o=2 n=3 m=5 i=7 reduction=add",
                   "o=3 n=17 m=31 i=1 reduction=max",
                   "o=1 n=5 m=9 i=65 reduction=min",
                   "o=5 n=7 m=3 i=129 reduction=mul",
                   "o=2 n=7 m=4 i=33",
                   "o=1 n=1000 m=4009 i=1 reduction=add",
                   "o=1 n=5 m=0 i=3"};
        bench = {"o=1 n=1000000 m=1000000 i=1 reduction=add",
                 "o=1 n=30522 m=4096 i=768 reduction=add"};
        contract = {Contract::products, 8};
    }
    Func x = input("x"), index = input("index"), updates = input("updates");
    Func y = output("y");
    Func result{"result"};
    Expr reduction = derived("mode", "reduction");
    Var i{"i"}, k{"k"}, o{"o"};
    RDom r;

    void algorithm() override {
        r = RDom(0, size("m"));
        const Expr at = index(r);
        const Expr place = clamp(at, 0, size("n") - 1);
        const Expr update = updates(i, r, o);
        r.where(at >= 0 && at < size("n"));
        result(i, k, o) = x(i, k, o);
        const Expr old = result(i, place, o);
        result(i, place, o) = select(reduction == 0, update, reduction == 1, old + update,
                                     reduction == 2, max(old, update), reduction == 3,
                                     min(old, update), old * update);
        y(i, k, o) = result(i, k, o);
    }
    // A task has some of i to itself: nobody else writes its elements.
    void schedule(const Cpu &cpu) override {
        if (variant == "columns") return schedule_columns(cpu);
        Func last = store();
        Var piece("piece"), ii("ii"), lane("lane"), vec("vec"), task("task");
        last.split(var(0), piece, ii, 4 * cpu.lanes, Tail::GuardWithIf)
            .reorder(ii, var(1), piece, var(2))
            .fuse(piece, var(2), task)
            .parallel(task);
        last.split(ii, vec, lane, cpu.lanes, Tail::GuardWithIf).vectorize(lane);
        result.compute_at(last, task)
            .split(i, vec, lane, cpu.lanes, Tail::GuardWithIf)
            .vectorize(lane);
        Halide::Stage meets = result.update();
        meets.split(i, vec, lane, cpu.lanes, Tail::GuardWithIf)
            .reorder(lane, vec, r, o)
            .vectorize(lane);
        for (int known : {0, 1})
            meets.specialize(reduction == known);
    }
    void schedule_columns(const Cpu &cpu) {
        Func last = store();
        Var lane("lane"), vec("vec"), task("task");
        last.reorder(var(1), var(0), var(2))
            .fuse(var(0), var(2), task)
            .parallel(task)
            .split(var(1), vec, lane, cpu.lanes, Tail::GuardWithIf)
            .vectorize(lane);
        result.compute_at(last, task)
            .reorder_storage(k, i, o)
            .reorder(k, i, o)
            .split(k, vec, lane, cpu.lanes, Tail::GuardWithIf)
            .vectorize(lane);
        for (int known : {0, 1})
            result.update().specialize(reduction == known);
        last.specialize(last.output_buffer().dim(1).stride() == 1 &&
                        memory[0].dim(1).stride() == 1);
    }
    void reference(Problem &p) const override {
        const int64_t mode = p["reduction"];
        p("y") = p("x");
        Array &size = p.abs_sum["y"] = Array(p("y").shape);
        Array hits(p("y").shape);
        for (size_t e = 0; e < size.v.size(); e++)
            size.v[e] = std::fabs(p("x").v[e]);
        for (int64_t a = 0; a < p["o"]; a++) {
            for (int64_t b = 0; b < p["m"]; b++) {
                for (int64_t c = 0; c < p["i"]; c++) {
                    const int64_t at = int64_t(p("index")(b));
                    if (at < 0 || at >= p["n"]) continue;
                    const double update = p("updates")(a, b, c);
                    p("y")(a, at, c) = met(mode, p("y")(a, at, c), update);
                    size(a, at, c) = mode == 1 ? size(a, at, c) + std::fabs(update)
                                               : std::fabs(p("y")(a, at, c));
                    hits(a, at, c)++;
                }
            }
        }
        // one rounding each
        for (size_t e = 0; e < size.v.size(); e++)
            size.v[e] *= std::fmax(1, hits.v[e] / 16);
    }
};

}  // namespace

HALYARD_OPS {
    ops.add<Scatter>();
}

}  // namespace halyard
