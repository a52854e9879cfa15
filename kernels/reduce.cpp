// Reductions over any dimensions: x[o,r,i,s], of which r and s (the dimensions in `axis`) are reduced. Gradients: reduce_gradient.cpp.
//
// Every reduction is a tree that depends on the shape alone: runs of 16 (rows: of 64 partial results side by side), runs of
// 16 of those, and so on. So the error of a sum grows with the tree's depth (pairwise summation: Higham, "The accuracy of
// floating point summation", SIAM J. Sci. Comput. 14, 1993), and threads and instruction sets cannot change a bit.
#include <cmath>

#include "dsl/op.h"

namespace halyard {
namespace {

using Halide::Expr;
using Halide::likely;
using Halide::unsafe_promise_clamped;

constexpr int run = 16, width = 64;                      // of partial results
constexpr int task_elements = 65536, most_unrolled = 8;  // 256 rows of 256 in tasks of 16 Ki took 1.3 times as long with 2 threads as with 1

Expr blocks(const Expr &n, int of) { return (n + (of - 1)) / of; }
Expr is_nan_real(const Expr &v) { return v != v; }

// Rows and columns of partial results stay in registers where there are enough of them.
void in_registers(Halide::Stage f, const Halide::VarOrRVar &v, int lanes) {
    f.vectorize(v, lanes);
    if (width / lanes <= most_unrolled) f.unroll(v);
}

struct Reduction : Op {
    Reduction(const std::string &name, const std::string &mindspore) : Op(name, "x[o,r,i,s] -> y[o,i]") {
        form = Form::reduction, any_strides = true;
        alias = mindspore;
        attrs.push_back({"axis", AttrKind::ints, "", {}, {}, true});
        flag("keep_dims", false);
        variants = {
            {"whole", "s>=262144 o*i<=4"}, {"rows", "s>=16"}, {"tall", "r>=1024 o*i<=65536 i>=8*lanes"}, {"thin", "r>=1024 o*i<=65536"}, {"columns", ""}};
        samples = {"o=1 r=1 i=1 s=1 axis=1,3",      "o=2 r=3 i=5 s=7 axis=1,3",     "o=1 r=1 i=3 s=17 axis=1,3",    "o=3 r=2 i=5 s=63 axis=1,3",
                   "o=1 r=1 i=7 s=65 axis=1,3",     "o=1 r=31 i=33 s=1 axis=1,3",   "o=3 r=257 i=15 s=1 axis=1,3",  "o=1 r=1031 i=17 s=1 axis=1,3",
                   "o=2 r=1031 i=530 s=1 axis=1,3", "o=2 r=1 i=1 s=16411 axis=1,3", "o=1 r=1 i=2 s=262181 axis=1,3"};
        bench = {"o=1 r=1 i=1 s=4194304 axis=1,3", "o=1 r=1 i=4096 s=1024 axis=1,3", "o=1 r=4096 i=1024 s=1 axis=1,3", "o=1 r=32 i=64 s=3136 axis=1,3",
                 "o=1 r=32 i=10 s=1 axis=1,3"};
    }
    Func x = input("x"), y = output("y");
    Var i{"i"}, o{"o"}, u{"u"}, t{"t"}, r{"r"};
    Func level[3] = {Func("runs"), Func("runs_of_runs"), Func("runs_of_runs_of_runs")};  // of a run, of 16 runs, of 256 runs
    Func all{"all"};                                                                     // what is left to fold across `width`
    Func folds[6];
    RDom k[4];
    Expr count;

    virtual Expr start() const = 0;
    virtual Expr combine(const Expr &a, const Expr &b) const = 0;
    virtual Expr finish(const Expr &a) const { return a; }

    bool along_s() const { return variant == "whole" || variant == "rows"; }

    void algorithm() override {
        count = math::real(size("r")) * math::real(size("s"));
        const Expr n = along_s() ? blocks(size("s"), width) : size("r"), whole_blocks = size("s") / width;
        k[0] = along_s() ? RDom(0, run) : RDom(0, size("s"), 0, run);
        const Expr at = along_s() ? t * run + k[0].x : t * run + k[0].y;
        k[0].where(at < (along_s() ? whole_blocks : n));
        if (!along_s() && variant != "tall") k[0].where(likely(i < size("i")));
        const Expr value = along_s() ? x(unsafe_promise_clamped(at, 0, whole_blocks - 1) * width + u, i, r, o)
                                     : x(k[0].x, variant == "tall" ? i : unsafe_promise_clamped(i, 0, size("i") - 1), unsafe_promise_clamped(at, 0, n - 1), o);
        const std::vector<Var> args = along_s() ? std::vector<Var>{u, t, i, r, o} : std::vector<Var>{i, t, o};
        level[0](args) = start();
        level[0](args) = combine(level[0](args), value);
        if (along_s()) {  // the last, broken block
            const Expr element = whole_blocks * width + u;
            RDom once(0, 1);
            once.where(whole_blocks / run == t);
            once.where(element < size("s"));
            level[0](args) = combine(level[0](args), x(unsafe_promise_clamped(element + once, 0, size("s") - 1), i, r, o));
        }
        auto part = [&](const Func &f, const Expr &place) { return along_s() ? f(u, place, i, r, o) : f(i, place, o); };
        Expr m = n;
        for (int l = 1; l < 3; l++) {
            m = blocks(m, run);
            k[l] = RDom(0, run);
            k[l].where(t * run + k[l].x < m);
            level[l](args) = start();
            level[l](args) = combine(level[l](args), part(level[l - 1], unsafe_promise_clamped(t * run + k[l].x, 0, m - 1)));
        }
        m = blocks(m, run);
        if (!along_s()) {
            k[3] = RDom(0, m);
            all(i, o) = start();
            all(i, o) = combine(all(i, o), level[2](i, k[3].x, o));
            y(i, o) = finish(all(i, o));
            return;
        }
        k[3] = RDom(0, m, 0, size("r"));
        all(u, i, o) = start();
        all(u, i, o) = combine(all(u, i, o), level[2](u, k[3].x, i, k[3].y, o));
        Func from = all;
        for (int w = width / 2, f = 0; w > 0; w /= 2, f++) {
            folds[f] = Func("fold" + std::to_string(w));
            folds[f](u, i, o) = combine(from(u, i, o), from(u + w, i, o));
            from = folds[f];
        }
        y(i, o) = finish(from(0, i, o));
    }

    // Rows: `width` partial results in registers, one row after another. The condition on lanes stands apart, for the last, broken
    // block: on every block it kept the sums in memory, and 4096 rows of 1024 took 1.8 times as long.
    void schedule_rows(const Cpu &cpu) {
        const bool whole = variant == "whole";
        const int v = std::min(cpu.lanes, width), runs = task_elements / (run * run * width);  // a task, of 256 blocks
        Func last = store();
        Var row("row"), task("task"), ri("ri");
        const Expr dense = memory[0].dim(0).stride() == 1;
        last.fuse(var(0), var(1), row).split(row, task, ri, max(1, task_elements / max(1, size("r") * size("s"))), Tail::GuardWithIf);
        if (!whole) last.parallel(task);
        all.compute_at(last, ri).bound(u, 0, width);
        in_registers(all, u, v);
        in_registers(all.update().reorder(u, k[3].x, k[3].y), u, v);
        for (int w = width / 2, f = 0; w > 0; w /= 2, f++) {
            folds[f].compute_at(last, ri).bound_extent(u, w);
            if (w >= v) folds[f].vectorize(u, v);
            else if (w > 1) folds[f].vectorize(u, w);
        }
        for (int l = 2; l >= 0; l--) {
            if (l == 2) level[l].compute_at(all, k[3].x);
            else if (whole && l == 1) level[l].compute_root().parallel(t, runs, Tail::GuardWithIf);
            else level[l].compute_at(level[l + 1], k[l + 1].x);
            level[l].bound(u, 0, width);
            in_registers(level[l], u, v);
            in_registers(level[l].update().reorder(u, k[l].x), u, v);
            if (l == 0) in_registers(level[l].update(1), u, v);
            if (whole && l == 1) level[l].update().parallel(t, runs, Tail::GuardWithIf).specialize(dense);
        }
        last.specialize(dense);
    }

    // Columns: i goes into vectors; a wide piece of 16 rows at a time, in tiles that fit registers.
    void schedule_columns(const Cpu &cpu) {
        const bool thin = variant == "thin";
        const int v = std::min(cpu.lanes, width), wide = cpu.pick("wide", {1024, 512, 4096});
        Func last = store();
        Var vec("vec"), lane("lane"), piece("piece"), tile("tile"), ii("ii"), task("task");
        const Expr parts = max(1, task_elements / (run * run) / max(1, size("i")));  // a task, of 256 rows
        auto tiled = [&](Func f) { in_registers(f.split(i, tile, ii, width, Tail::RoundUp), ii, v); };
        auto tiled_update = [&](Func f, const RVar &along) {
            in_registers(f.update().split(i, tile, ii, width, Tail::RoundUp).reorder(ii, tile, along), ii, v);
        };
        last.split(var(0), vec, lane, v, Tail::GuardWithIf).vectorize(lane).split(vec, piece, vec, wide / v, Tail::GuardWithIf);
        last.fuse(piece, var(1), task).parallel(task);
        all.compute_at(last, task);
        tiled(all);
        tiled_update(all, k[3].x);
        for (int l = 2; l > 0; l--) {
            if (l == 2) level[l].compute_at(all, k[3].x);
            else if (thin) level[l].compute_root().fuse(t, o, task).parallel(task, parts, Tail::GuardWithIf);
            else level[l].compute_at(level[l + 1], k[l + 1].x);
            tiled(level[l]);
            tiled_update(level[l], k[l].x);
            if (thin && l == 1) level[l].update().fuse(t, o, task).parallel(task, parts, Tail::GuardWithIf);
        }
        level[0].compute_at(level[1], tile).bound_extent(i, width);
        in_registers(level[0], i, v);
        in_registers(level[0].update().reorder(i, k[0].x, k[0].y), i, v);
        level[1].specialize(memory[0].dim(1).stride() == 1);
        level[1].update().specialize(memory[0].dim(1).stride() == 1);
    }

    // Tall: 256 rows a task, in tiles of 8 vectors; the last tile overlaps the one before it. 1.9 times as fast for 4096 x 1024 as `thin`,
    // whose condition on lanes keeps sums in memory.
    void schedule_tall(const Cpu &cpu) {
        const int v = std::min(cpu.lanes, width), across = 8 * v;
        Func last = store(), task_sums = level[1].in();
        Var vec("vec"), lane("lane"), tile("tile"), ii("ii"), task("task");
        const Expr dense = memory[0].dim(1).stride() == 1;
        last.compute_root().split(var(0), vec, lane, v, Tail::ShiftInwards).vectorize(lane).parallel(var(1));
        all.compute_at(last, vec).vectorize(i).update().vectorize(i);
        level[2].compute_at(all, k[3].x).vectorize(i).update().vectorize(i);
        task_sums.compute_root()
            .split(i, tile, ii, across, Tail::ShiftInwards)
            .vectorize(ii, v)
            .unroll(ii)
            .reorder(ii, tile, t, o)
            .fuse(t, o, task)
            .parallel(task);
        level[1].compute_at(task_sums, tile).vectorize(i, v).unroll(i).update().reorder(i, k[1].x).vectorize(i, v).unroll(i);
        level[0].compute_at(level[1], k[1].x).vectorize(i, v).unroll(i).update().reorder(i, k[0].x, k[0].y).vectorize(i, v).unroll(i);
        task_sums.specialize(dense);
    }

    void schedule(const Cpu &cpu) override { along_s() ? schedule_rows(cpu) : variant == "tall" ? schedule_tall(cpu) : schedule_columns(cpu); }

    template<class F> void each(Problem &p, F value) const {
        for (int64_t a = 0; a < p["o"]; a++)
            for (int64_t c = 0; c < p["i"]; c++)
                value(a, c, [&](auto visit) {
                    for (int64_t b = 0; b < p["r"]; b++)
                        for (int64_t d = 0; d < p["s"]; d++) visit(p("x")(a, b, c, d));
                });
    }
};

struct ReduceSum : Reduction {
    bool mean;
    explicit ReduceSum(bool mean) : Reduction(mean ? "reduce_mean" : "reduce_sum", mean ? "ReduceMean" : "ReduceSum"), mean(mean) {
        doc = mean ? "y = sum of x over axis / number of elements; of nothing: NaN" : "y = sum of x over axis; integers wrap; of nothing: 0";
        if (!mean) dtypes.insert(dtypes.end(), {"i64", "i32"});
        contract = {Contract::products, 8};
    }
    Expr start() const override { return 0_r; }
    Expr combine(const Expr &a, const Expr &b) const override { return a + b; }
    Expr finish(const Expr &a) const override { return mean ? a / count : a; }
    void reference(Problem &p) const override {
        const double n = mean ? (double)(p["r"] * p["s"]) : 1;
        p.magnitude["y"] = p("y");
        each(p, [&](int64_t a, int64_t c, auto elements) {
            double sum = 0, size = 0;
            elements([&](double v) { sum += v, size += std::fabs(v); });
            p("y")(a, c) = sum / n, p.magnitude["y"](a, c) = size / n;
        });
    }
};

// NaN wins against everything, wherever it stands; of -0 and +0 either may come out.
struct ReduceExtremum : Reduction {
    bool largest;
    explicit ReduceExtremum(bool largest) : Reduction(largest ? "reduce_max" : "reduce_min", largest ? "ReduceMax" : "ReduceMin"), largest(largest) {
        doc = std::string(largest ? "y = largest" : "y = smallest") + " x along axis; NaN if there is one; of nothing: an error";
        dtypes.insert(dtypes.end(), {"i64", "i32", "i8", "u8"});
        conditions = {"r>0", "s>0"};
        contract = {Contract::elementwise, 0};
    }
    Expr start() const override { return largest ? math::lowest() : math::highest(); }
    Expr combine(const Expr &a, const Expr &b) const override { return select((largest ? b > a : b < a) || is_nan_real(b), b, a); }
    void reference(Problem &p) const override {
        each(p, [&](int64_t a, int64_t c, auto elements) {
            double best = largest ? -INFINITY : INFINITY;
            elements([&](double v) {
                if (std::isnan(v) || (largest ? v > best : v < best)) best = v;
            });
            p("y")(a, c) = best;
        });
    }
};

// The place of the largest (smallest) element of a row; the first one on ties; NaN counts as beyond all numbers.
struct ArgExtremum : Op {
    bool largest;
    explicit ArgExtremum(bool largest) : Op(largest ? "argmax" : "argmin", "x[..n,c] -> y:i32[..n]"), largest(largest) {
        doc = std::string("y = first place of the ") + (largest ? "largest" : "smallest") + " x along axis; NaN is beyond all numbers";
        alias = largest ? "Argmax" : "Argmin";
        attr("axis", -1);
        axis = "c";
        any_strides = true;
        conditions = {"c>0"};
        dtypes = {"f32", "f16", "bf16", "f64", "i64", "i32", "i8", "u8"};
        variants = {{"rows", "c>=64 x_s0==1"}, {"columns", ""}};
        samples = {"n=1 c=1", "n=3 c=7", "n=65 c=10", "n=5 c=64", "n=7 c=65", "n=2 c=1000"};
        bench = {"n=4096 c=1024", "n=32 c=10"};
        contract = {Contract::elementwise, 0};
    }
    Func x = input("x"), y = output("y"), best{"best"}, lanes{"lanes"};
    Func folds[6];
    Var n{"n"}, u{"u"};
    RDom k;
    static constexpr int nowhere = 0x7fffffff;

    // The better of two (value, place), in whatever order they come.
    Halide::Tuple better(const Halide::Tuple &a, const Halide::Tuple &b) const {
        const Expr nan_a = is_nan_real(a[0]), nan_b = is_nan_real(b[0]);
        const Expr wins = (largest ? b[0] > a[0] : b[0] < a[0]) || (nan_b && !nan_a), ties = b[0] == a[0] || (nan_a && nan_b);
        const Expr take = (wins && !nan_a) || (ties && b[1] < a[1]);
        return {select(take, b[0], a[0]), select(take, b[1], a[1])};
    }
    Halide::Tuple none() const { return {largest ? math::lowest() : math::highest(), nowhere}; }
    void algorithm() override {
        if (variant != "rows") {
            k = RDom(0, size("c"));
            best(n) = none();
            best(n) = better(best(n), {x(k, unsafe_promise_clamped(n, 0, size("n") - 1)), k});
            y(n) = best(n)[1];
            return;
        }
        // Every lane has an element, c being at least `width`, and meets its elements in order: no tie is ever taken.
        lanes(u, n) = {none()[0], u};
        auto meet = [&](const Expr &at) {
            const Halide::Tuple mine = lanes(u, n);
            const Expr next = x(at, n), take = ((largest ? next > mine[0] : next < mine[0]) || is_nan_real(next)) && !is_nan_real(mine[0]);
            lanes(u, n) = {select(take, next, mine[0]), select(take, at, mine[1])};
        };
        k = RDom(0, size("c") / width);
        meet(k * width + u);
        RDom last_block(size("c") / width, 1);
        last_block.where(last_block * width + u < size("c"));
        meet(unsafe_promise_clamped(last_block * width + u, 0, size("c") - 1));
        Func from = lanes;
        for (int w = width / 2, f = 0; w > 0; w /= 2, f++) {
            folds[f] = Func("fold" + std::to_string(w));
            folds[f](u, n) = better(from(u, n), from(u + w, n));
            from = folds[f];
        }
        y(n) = from(0, n)[1];
    }
    void schedule(const Cpu &cpu) override {
        Func last = store();
        Var task("task"), vec("vec"), lane("lane");
        const Expr rows = max(1, task_elements / max(1, size("c")));
        if (variant != "rows") {
            last.split(var(0), vec, lane, cpu.lanes, Tail::GuardWithIf)
                .vectorize(lane)
                .split(vec, task, vec, max(1, rows / cpu.lanes), Tail::GuardWithIf)
                .parallel(task);
            best.compute_at(last, vec).vectorize(n, cpu.lanes, Tail::GuardWithIf).update().vectorize(n, cpu.lanes, Tail::GuardWithIf);
            last.specialize(memory[0].dim(1).stride() == 1);
            return;
        }
        const int v = std::min(cpu.lanes, width);
        last.split(var(0), task, vec, rows, Tail::GuardWithIf).parallel(task);
        lanes.compute_at(last, vec).bound(u, 0, width);
        in_registers(lanes, u, v);
        in_registers(lanes.update().reorder(u, k), u, v);
        in_registers(lanes.update(1), u, v);
        memory[0].dim(0).set_stride(1);  // as the variant's condition says
        for (int w = width / 2, f = 0; w > 0; w /= 2, f++) {
            folds[f].compute_at(last, vec).bound_extent(u, w);
            if (w > 1) folds[f].vectorize(u, std::min(v, w));
        }
    }
    void reference(Problem &p) const override {
        for (int64_t i = 0; i < p["n"]; i++) {
            int64_t at = 0;
            for (int64_t j = 1; j < p["c"]; j++) {
                const double a = p("x")(i, at), b = p("x")(i, j);
                if (!std::isnan(a) && (std::isnan(b) || (largest ? b > a : b < a))) at = j;
            }
            p("y")(i) = (double)at;
        }
    }
};

}  // namespace

HALYARD_OPS {
    ops.add<ReduceSum>(false);
    ops.add<ReduceSum>(true);
    ops.add<ReduceExtremum>(true);
    ops.add<ReduceExtremum>(false);
    ops.add<ArgExtremum>(true);
    ops.add<ArgExtremum>(false);
}

}  // namespace halyard
