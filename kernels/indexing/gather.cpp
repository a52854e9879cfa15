// Elements along one axis by their index, and the gradients. x[o,n,i] is indexed along n.
//
// gather_kernel has one index for each slice. gather, embedding, pad, flip, roll and tile are
// composed of it (primitives/composites/indexing/indexing.cpp). gather_elements_kernel has one
// index for each element. gather_elements and the gradients of sorting and of running extrema are
// composed of it (primitives/composites/indexing/sorting.cpp).
#include <cmath>

#include "dsl/dtypes.h"
#include "dsl/op.h"
#include "kernels/indexing/indexed_updates.h"

namespace halyard {
namespace {

using Halide::Expr;

constexpr int task_elements = 65536, row_task_elements = 16384;

// Returns `at`, or n - 1 if it is outside [0, n), by one unsigned minimum.
Expr clamped_index(const Expr &at, const Expr &n) {
    const Expr index = Halide::cast(Halide::Int(32), min(Halide::cast(Halide::UInt(32), at),
                                                         Halide::cast(Halide::UInt(32), n - 1)));
    return Halide::unsafe_promise_clamped(index, 0, n - 1);
}

// Returns the element that `index` means, clamped to [0, n). A negative index counts from the end
// if `negative` is not 0.
Expr element_index(const Expr &index, const Expr &n, const Expr &negative) {
    return clamped_index(select(negative != 0 && index < 0, index + n, index), n);
}

// Schedules y for single elements, without vectors: a vector of scattered loads would be split into
// lanes anyway. `plain` is the condition that indices are used as they are, only clamped.
void schedule_single_elements(Halide::Func y, const Halide::ImageParam &x, const Halide::Var &i,
                              const Halide::Var &m, const Halide::Var &o, const Expr &plain) {
    Halide::Var runs("some"), element("place"), row("row"), task("task");
    constexpr int run = 64;
    y.split(m, runs, element, run, Halide::TailStrategy::GuardWithIf)
        .reorder(i, element, runs, o)
        .fuse(runs, o, row);
    y.split(row, task, row, task_elements / run, Halide::TailStrategy::GuardWithIf).parallel(task);
    const auto out = y.output_buffer();
    const Expr single = out.dim(0).extent() == 1 && out.dim(1).stride() == 1 &&
                        x.dim(1).stride() == 1;
    y.specialize(plain && single);
    y.specialize(plain);
    y.specialize(single);
}

// y[o,m,i] = x[o,index[m],i], or `fill` if the index is outside [0, n). With `all_within` the
// caller promises that none is. "runs" copies vectors along i, "points" single elements.
struct Gather : Op {
    Gather() : Op("gather_kernel", "x[o,n,i] index:i32[m] fill[] -> y[o,m,i]") {
        internal = copies_bits = true;
        flag("all_within", false);
        let("index_end", "all_within ? n : n + 1");
        let("index_least", "all_within - 1");
        conditions = {"n>0"};
        dtypes = all_dtypes;
        add({"runs", Dim("i") >= lanes, {.schedule = [this](const Cpu &cpu) {
                 schedule_runs(cpu);
             }}});
        add({"points", DimExpr::always(), {.schedule = [this](const Cpu &) {
                 schedule_single_elements(store(), memory[0], var(0), var(1), var(2), within != 0);
             }}});
        samples = {"o=1 n=1 m=1 i=1",
                   "o=2 n=3 m=5 i=7",
                   "o=3 n=17 m=31 i=1",
                   "o=1 n=5 m=33 i=65",
                   "o=5 n=7 m=2 i=129",
                   "o=1 n=1000 m=40009 i=1",
                   "o=3 n=7 m=65 i=1 all_within=1",
                   "o=2 n=5 m=67 i=3 all_within=1",
                   "o=2 n=5 m=7 i=33 all_within=1",
                   "o=1031 n=3 m=2 i=1",
                   "o=1031 n=3 m=2 i=1 all_within=1"};
        bench = {"o=1 n=30522 m=4096 i=768", "o=64 n=3136 m=3136 i=1"};
        contract = {Contract::elementwise, 0};
    }
    Func x = input("x"), index = input("index"), fill = input("fill");
    Func y = output("y");
    Expr within = derived("within", "all_within");
    Var i{"i"}, m{"m"}, o{"o"};

    void algorithm() override {
        const Expr at = index(m);
        y(i, m, o) = select(within != 0 || (at >= 0 && at < size("n")),
                            x(i, clamped_index(at, size("n")), o), fill());
    }
    void schedule_runs(const Cpu &cpu) {
        Func last = store();
        Var vec("vec"), lane("lane"), row("row"), task("task");
        last.split(var(0), vec, lane, cpu.lanes, Tail::GuardWithIf)
            .vectorize(lane)
            .fuse(var(1), var(2), row);
        last.split(row, task, row, max(1, task_elements / max(1, size("i"))), Tail::GuardWithIf)
            .parallel(task);
        last.specialize(within != 0);
    }
    void reference(Problem &p) const override {
        for (int64_t a = 0; a < p["o"]; a++) {
            for (int64_t b = 0; b < p["m"]; b++) {
                for (int64_t c = 0; c < p["i"]; c++) {
                    const int64_t at = int64_t(p("index")(b));
                    p("y")(a, b, c) = at >= 0 && at < p["n"] ? p("x")(a, at, c) : p("fill")();
                }
            }
        }
    }
};

// dx[o,k,i] is the sum of dy[o,m,i] over all m with index[m] = k, in the order of m, so the bits
// don't depend on the number of threads. x is an input for its shape only.
struct GatherDx : Op {
    GatherDx() : Op("gather_kernel_dx", "x[o,n,i] index:i32[m] dy[o,m,i] -> dx[o,n,i]") {
        internal = true;
        let("index_end", "n + 1");
        let("index_least", "-1");
        conditions = {"n>0"};
        samples = {"o=1 n=1 m=1 i=1",   "o=2 n=3 m=5 i=7",   "o=3 n=17 m=31 i=1",
                   "o=1 n=5 m=33 i=65", "o=5 n=7 m=2 i=129", "o=1 n=1000 m=4009 i=1"};
        bench = {"o=1 n=30522 m=4096 i=768"};
        contract = {Contract::products, 8};
    }
    Func x = input("x"), index = input("index"), dy = input("dy");
    Func dx = output("dx");
    Func sum{"sum"};
    Var i{"i"}, k{"k"}, o{"o"};
    RDom r;

    void algorithm() override {
        r = RDom(0, size("m"));
        const Expr at = index(r);
        r.where(at >= 0 && at < size("n"));
        sum(i, k, o) = 0_r;
        const Expr place = clamp(at, 0, size("n") - 1);
        sum(i, place, o) = sum(i, place, o) + dy(i, r, o);
        dx(i, k, o) = sum(i, k, o);
    }
    void schedule(const Cpu &cpu) override { schedule_by_columns(cpu, *this, sum, r); }
    void reference(Problem &p) const override {
        Array &abs_sum = p.abs_sum["dx"] = Array(p("dx").shape);
        Array terms(p("dx").shape);
        p("dx") = Array(p("dx").shape);
        for (int64_t a = 0; a < p["o"]; a++) {
            for (int64_t b = 0; b < p["m"]; b++) {
                for (int64_t c = 0; c < p["i"]; c++) {
                    const int64_t at = int64_t(p("index")(b));
                    if (at < 0 || at >= p["n"]) continue;
                    p("dx")(a, at, c) += p("dy")(a, b, c);
                    abs_sum(a, at, c) += std::fabs(p("dy")(a, b, c));
                    terms(a, at, c)++;
                }
            }
        }
        // Every 16 terms add a rounding error.
        for (size_t e = 0; e < abs_sum.v.size(); e++)
            abs_sum.v[e] *= std::fmax(1, terms.v[e] / 16);
    }
};

// y[o,m,i] = x[o,index[o,m,i],i]. With `some_negative` negative indices count from the end. The
// caller checks that all are within x.
struct GatherElements : Op {
    GatherElements() : Op("gather_elements_kernel", "x[o,n,i] index:i32[o,m,i] -> y[o,m,i]") {
        internal = copies_bits = true;
        flag("some_negative", false);
        let("index_end", "n");
        let("index_least", "some_negative ? -n : 0");
        conditions = {"n>0"};
        dtypes = all_dtypes;
        samples = {"o=1 n=1 m=1 i=1",
                   "o=2 n=3 m=5 i=7",
                   "o=3 n=17 m=31 i=1 some_negative=1",
                   "o=1 n=5 m=33 i=65",
                   "o=1 n=1000 m=40009 i=1",
                   "o=33 n=10 m=1 i=1",
                   "o=1031 n=3 m=2 i=1 some_negative=1",
                   "o=1031 n=3 m=2 i=1"};
        bench = {"o=4096 n=1024 m=1024 i=1", "o=1 n=1024 m=1024 i=4096"};
        contract = {Contract::elementwise, 0};
    }
    Func x = input("x"), index = input("index");
    Func y = output("y");
    Expr negative = derived("negative", "some_negative");
    Var i{"i"}, m{"m"}, o{"o"};

    void algorithm() override {
        y(i, m, o) = x(i, element_index(index(i, m, o), size("n"), negative), o);
    }
    void schedule(const Cpu &) override {
        schedule_single_elements(store(), memory[0], var(0), var(1), var(2), negative == 0);
    }
    void reference(Problem &p) const override {
        for (int64_t a = 0; a < p["o"]; a++) {
            for (int64_t b = 0; b < p["m"]; b++) {
                for (int64_t c = 0; c < p["i"]; c++) {
                    const int64_t at = int64_t(p("index")(a, b, c));
                    p("y")(a, b, c) = p("x")(a, at < 0 ? at + p["n"] : at, c);
                }
            }
        }
    }
};

// dx[o,k,i] is the sum of dy[o,m,i] over all m with index[o,m,i] = k, in the order of m, so the
// bits don't depend on the number of threads. x is an input for its shape only.
struct GatherElementsDx : Op {
    GatherElementsDx()
        : Op("gather_elements_kernel_dx", "x[o,n,i] index:i32[o,m,i] dy[o,m,i] -> dx[o,n,i]") {
        internal = true;
        flag("some_negative", false);
        let("index_end", "n");
        let("index_least", "some_negative ? -n : 0");
        conditions = {"n>0"};
        add({"rows", Dim("i") == 1, {.schedule = [this](const Cpu &cpu) {
                 schedule_dx(cpu, true);
             }}});
        add({"columns", DimExpr::always(), {.schedule = [this](const Cpu &cpu) {
                 schedule_dx(cpu, false);
             }}});
        samples = {"o=1 n=1 m=1 i=1",       "o=3 n=7 m=5 i=1 some_negative=1",
                   "o=2 n=31 m=33 i=1",     "o=33 n=10 m=1 i=1",
                   "o=1 n=1000 m=4009 i=1", "o=2 n=3 m=5 i=7",
                   "o=1 n=5 m=33 i=65",     "o=3 n=5 m=2 i=129 some_negative=1"};
        bench = {"o=4096 n=1024 m=10 i=1", "o=4096 n=1024 m=1024 i=1", "o=1 n=1024 m=1024 i=4096"};
        contract = {Contract::products, 8};
    }
    Func x = input("x"), index = input("index"), dy = input("dy");
    Func dx = output("dx");
    Func sum{"sum"};
    Expr negative = derived("negative", "some_negative");
    Var i{"i"}, k{"k"}, o{"o"};
    RDom r;

    void algorithm() override {
        r = RDom(0, size("m"));
        const Expr place = element_index(index(i, r, o), size("n"), negative);
        sum(i, k, o) = 0_r;
        sum(i, place, o) = sum(i, place, o) + dy(i, r, o);
        dx(i, k, o) = sum(i, k, o);
    }
    // A task has whole rows or a range of columns to itself, so tasks never add to the same sums.
    void schedule_dx(const Cpu &cpu, bool rows) {
        Func last = store();
        Var piece("piece"), ii("ii"), lane("lane"), vec("vec"), row("row"), task("task");
        const Expr work = max(1, (size("n") + size("m")) * (rows ? 1 : 4 * cpu.lanes));
        last.split(var(0), piece, ii, rows ? 1 : 4 * cpu.lanes, Tail::GuardWithIf)
            .reorder(ii, var(1), piece, var(2))
            .fuse(piece, var(2), row);
        last.split(row, task, row, max(1, row_task_elements / work), Tail::GuardWithIf)
            .parallel(task);
        sum.compute_at(last, row);
        if (rows) {
            last.split(var(1), vec, lane, cpu.lanes, Tail::GuardWithIf).vectorize(lane);
            last.specialize(negative == 0 && last.output_buffer().dim(1).stride() == 1);
            last.specialize(last.output_buffer().dim(1).stride() == 1);
            sum.split(k, vec, lane, cpu.lanes, Tail::GuardWithIf).vectorize(lane);
        } else {
            last.split(ii, vec, lane, cpu.lanes, Tail::GuardWithIf).vectorize(lane);
            sum.split(i, vec, lane, cpu.lanes, Tail::GuardWithIf).vectorize(lane);
            sum.update().reorder(i, r, o);
        }
    }
    void reference(Problem &p) const override {
        Array &abs_sum = p.abs_sum["dx"] = Array(p("dx").shape);
        Array terms(p("dx").shape);
        p("dx") = Array(p("dx").shape);
        for (int64_t a = 0; a < p["o"]; a++) {
            for (int64_t b = 0; b < p["m"]; b++) {
                for (int64_t c = 0; c < p["i"]; c++) {
                    const int64_t index = int64_t(p("index")(a, b, c));
                    const int64_t at = index < 0 ? index + p["n"] : index;
                    p("dx")(a, at, c) += p("dy")(a, b, c);
                    abs_sum(a, at, c) += std::fabs(p("dy")(a, b, c));
                    terms(a, at, c)++;
                }
            }
        }
        // Every 16 terms add a rounding error.
        for (size_t e = 0; e < abs_sum.v.size(); e++)
            abs_sum.v[e] *= std::fmax(1, terms.v[e] / 16);
    }
};

}  // namespace

HALYARD_OPS {
    ops.add<Gather>();
    ops.add<GatherDx>();
    ops.add<GatherElements>();
    ops.add<GatherElementsDx>();
}

}  // namespace halyard
