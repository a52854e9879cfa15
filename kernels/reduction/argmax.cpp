// argmax and argmin: the index of the extremum of a row.
#include "kernels/reduction/reduction.h"

namespace halyard {
namespace {

using Halide::Expr;
using Halide::unsafe_promise_clamped;

constexpr int width = reduction_width;
constexpr int task_elements = reduction_task_elements;

// The index of the largest (smallest) element of a row, of equal ones the first. NaN is beyond all
// numbers.
struct ArgExtremum : Op {
    bool largest;
    explicit ArgExtremum(bool largest)
        : Op(largest ? "argmax" : "argmin", "x[..n,c] -> y:i32[..n]"), largest(largest) {
        doc = std::string("y = first place of the ") + (largest ? "largest" : "smallest") +
              " x along axis; NaN is beyond all numbers";
        alias = largest ? "Argmax" : "Argmin";
        attr("axis", -1);
        axis = "c";
        any_strides = true;
        conditions = {"c>0"};
        dtypes = {"f32", "f16", "bf16", "f64", "i64", "i32", "i8", "u8"};
        add({"rows",
             Dim("c") >= width && stride(x) == 1,
             {.algorithm = [this](const Build &) { define_rows(); },
              .schedule = [this](const Cpu &cpu) { schedule_rows(cpu); }}});
        add({"columns",
             DimExpr::always(),
             {.algorithm = [this](const Build &) { define_columns(); },
              .schedule = [this](const Cpu &cpu) { schedule_columns(cpu); }}});
        samples = {"n=1 c=1", "n=3 c=7", "n=65 c=10", "n=5 c=64", "n=7 c=65", "n=2 c=1000"};
        bench = {"n=4096 c=1024", "n=32 c=10"};
        contract = {Contract::elementwise, 0};
    }
    Func x = input("x");
    Func y = output("y");
    Func best{"best"}, partial{"lanes"};
    Func folds[6];
    Var n{"n"}, u{"u"};
    RDom k;
    static constexpr int no_index = 0x7fffffff;

    // Returns the better of two pairs (value, index), which may come in any order.
    Halide::Tuple better(const Halide::Tuple &a, const Halide::Tuple &b) const {
        const Expr a_is_nan = math::is_nan(a[0]);
        const Expr b_is_nan = math::is_nan(b[0]);
        const Expr wins = (largest ? b[0] > a[0] : b[0] < a[0]) || (b_is_nan && !a_is_nan);
        const Expr ties = b[0] == a[0] || (a_is_nan && b_is_nan);
        const Expr take = (wins && !a_is_nan) || (ties && b[1] < a[1]);
        return {select(take, b[0], a[0]), select(take, b[1], a[1])};
    }
    // Returns the pair to start with, which every element beats.
    Halide::Tuple none() const { return {largest ? math::lowest() : math::highest(), no_index}; }
    // Takes one row after another, in `width` partial results.
    void define_rows() {
        // Each partial result sees its elements in order, so of equal ones it keeps the first. It
        // sees at least one, because c >= width.
        partial(u, n) = {none()[0], u};
        auto update = [&](const Expr &at) {
            const Halide::Tuple best_so_far = partial(u, n);
            const Expr next = x(at, n);
            const Expr take = ((largest ? next > best_so_far[0] : next < best_so_far[0]) ||
                               math::is_nan(next)) &&
                              !math::is_nan(best_so_far[0]);
            partial(u, n) = {select(take, next, best_so_far[0]), select(take, at, best_so_far[1])};
        };
        k = RDom(0, size("c") / width);
        update(k * width + u);
        RDom last_block(size("c") / width, 1);
        last_block.where(last_block * width + u < size("c"));
        update(unsafe_promise_clamped(last_block * width + u, 0, size("c") - 1));
        Func from = partial;
        for (int w = width / 2, f = 0; w > 0; w /= 2, f++) {
            folds[f] = Func("fold" + std::to_string(w));
            folds[f](u, n) = better(from(u, n), from(u + w, n));
            from = folds[f];
        }
        y(n) = from(0, n)[1];
    }
    // Takes several rows side by side, one in each lane.
    void define_columns() {
        k = RDom(0, size("c"));
        best(n) = none();
        best(n) = better(best(n), {x(k, unsafe_promise_clamped(n, 0, size("n") - 1)), k});
        y(n) = best(n)[1];
    }
    Expr task_rows() const { return max(1, task_elements / max(1, size("c"))); }
    void schedule_columns(const Cpu &cpu) {
        Func last = store();
        Var task("task"), vec("vec"), lane("lane");
        last.split(var(0), vec, lane, cpu.lanes, Tail::GuardWithIf)
            .vectorize(lane)
            .split(vec, task, vec, max(1, task_rows() / cpu.lanes), Tail::GuardWithIf)
            .parallel(task);
        best.compute_at(last, vec)
            .vectorize(n, cpu.lanes, Tail::GuardWithIf)
            .update()
            .vectorize(n, cpu.lanes, Tail::GuardWithIf);
        last.specialize(memory[0].dim(1).stride() == 1);
    }
    void schedule_rows(const Cpu &cpu) {
        Func last = store();
        Var task("task"), vec("vec");
        const int v = std::min(cpu.lanes, width);
        last.split(var(0), task, vec, task_rows(), Tail::GuardWithIf).parallel(task);
        partial.compute_at(last, vec).bound(u, 0, width);
        in_registers(partial, u, v);
        in_registers(partial.update().reorder(u, k), u, v);
        in_registers(partial.update(1), u, v);
        memory[0].dim(0).set_stride(1);
        for (int w = width / 2, f = 0; w > 0; w /= 2, f++) {
            folds[f].compute_at(last, vec).bound_extent(u, w);
            if (w > 1) folds[f].vectorize(u, std::min(v, w));
        }
    }
    void reference(Problem &p) const override {
        for (int64_t i = 0; i < p["n"]; i++) {
            int64_t at = 0;
            for (int64_t j = 1; j < p["c"]; j++) {
                const double a = p("x")(i, at);
                const double b = p("x")(i, j);
                if (!std::isnan(a) && (std::isnan(b) || (largest ? b > a : b < a))) at = j;
            }
            p("y")(i) = double(at);
        }
    }
};

}  // namespace

HALYARD_OPS {
    ops.add<ArgExtremum>(true);
    ops.add<ArgExtremum>(false);
}

}  // namespace halyard
