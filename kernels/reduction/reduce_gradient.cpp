// Gradients of the reductions in reduce.cpp.
#include <cmath>

#include "dsl/op.h"

namespace halyard {
namespace {

using Halide::Expr;

constexpr int task_elements = 16384;

// The base of the gradients, which broadcast reduced tensors to a full one. The vectors run along s
// if its extent is more than 1, else along i.
struct ReduceGradient : Op {
    ReduceGradient(const std::string &name, const std::string &inputs)
        : Op(name, inputs + " dy[o,i] -> dx[o,r,i,s]") {
        form = Form::reduction;
        any_strides = internal = true;
        at_call("axis", AttrKind::ints, "");
        flag("keep_dims", false);
        samples = {"o=1 r=1 i=1 s=1 axis=1,3", "o=2 r=3 i=5 s=7 axis=1,3",
                   "o=1 r=1 i=3 s=33 axis=1,3", "o=3 r=31 i=17 s=1 axis=1,3",
                   "o=1 r=1 i=1 s=40009 axis=1,3"};
        bench = {"o=1 r=1 i=4096 s=1024 axis=1,3", "o=1 r=4096 i=1024 s=1 axis=1,3"};
        contract = {Contract::elementwise, 1};
    }
    Func x = input("x");
    Var s{"s"}, i{"i"}, r{"r"}, o{"o"};

    void schedule(const Cpu &cpu) override {
        Func last = store();
        Var vec("vec"), lane("lane"), piece("piece"), task("task");
        const Expr along_s = size("s") > 1;
        for (const bool inner : {true, false}) {
            Halide::Stage form = inner ? last.specialize(along_s) : Halide::Stage(last);
            const Var v = inner ? var(0) : var(1);
            const Var other = inner ? var(1) : var(0);
            form.reorder(v, other, var(2), var(3))
                .split(v, vec, lane, cpu.lanes, Tail::GuardWithIf)
                .vectorize(lane)
                .split(vec, piece, vec, task_elements / cpu.lanes, Tail::GuardWithIf);
            form.reorder(lane, vec, piece, other, var(2), var(3))
                .fuse(piece, other, task)
                .fuse(task, var(2), task)
                .fuse(task, var(3), task)
                .parallel(task);
        }
    }
    // For references: sets every element of dx to value(o, r, i, s).
    template<class F> static void fill(Problem &p, F value) {
        for (int64_t a = 0; a < p["o"]; a++) {
            for (int64_t b = 0; b < p["r"]; b++) {
                for (int64_t c = 0; c < p["i"]; c++) {
                    for (int64_t d = 0; d < p["s"]; d++)
                        p("dx")(a, b, c, d) = value(a, b, c, d);
                }
            }
        }
    }
};

// x is an input for its shape only.
struct ReduceSumDx : ReduceGradient {
    bool mean;
    explicit ReduceSumDx(bool mean)
        : ReduceGradient(mean ? "reduce_mean_dx" : "reduce_sum_dx", "x[o,r,i,s]"), mean(mean) {}
    Func dy = input("dy");
    Func dx = output("dx");
    void algorithm() override {
        const Expr count = math::real(size("r")) * math::real(size("s"));
        dx(s, i, r, o) = mean ? dy(i, o) / count : dy(i, o);
    }
    void reference(Problem &p) const override {
        const double n = mean ? double(p["r"] * p["s"]) : 1;
        fill(p, [&](int64_t a, int64_t, int64_t c, int64_t) { return p("dy")(a, c) / n; });
    }
};

// Equal extrema share the gradient evenly, as in MindSpore and PyTorch's amax. So do NaNs.
struct ReduceExtremumDx : ReduceGradient {
    explicit ReduceExtremumDx(bool largest)
        : ReduceGradient(largest ? "reduce_max_dx" : "reduce_min_dx", "x[o,r,i,s] y[o,i]") {}
    Func y = input("y"), dy = input("dy");
    Func dx = output("dx");
    Func ties{"ties"}, share{"share"};
    RDom k;

    static Expr is_same(const Expr &a, const Expr &b) {
        return a == b || (math::is_nan(a) && math::is_nan(b));
    }
    void algorithm() override {
        k = RDom(0, size("s"), 0, size("r"));
        ties(i, o) += select(is_same(x(k.x, i, k.y, o), y(i, o)), 1, 0);
        share(i, o) = dy(i, o) / math::real(ties(i, o));
        dx(s, i, r, o) = select(is_same(x(s, i, r, o), y(i, o)), share(i, o), 0_r);
    }
    void schedule(const Cpu &cpu) override {
        ReduceGradient::schedule(cpu);
        Var task("task"), lane("lane"), vec("vec"), u("u");
        share.compute_root().parallel(o);
        ties.compute_root()
            .split(i, vec, lane, cpu.lanes, Tail::GuardWithIf)
            .vectorize(lane)
            .fuse(vec, o, task)
            .parallel(task);
        Halide::Stage rows = ties.update().specialize(size("s") > 1 &&
                                                      memory[0].dim(0).stride() == 1);
        RVar ko("ko"), ki("ki");
        rows.split(k.x, ko, ki, cpu.lanes, Tail::GuardWithIf)
            .reorder(ki, ko, k.y, i, o)
            .atomic()
            .vectorize(ki)
            .fuse(i, o, task)
            .parallel(task);
        ties.update()
            .split(i, vec, lane, cpu.lanes, Tail::GuardWithIf)
            .reorder(lane, k.x, k.y, vec, o)
            .vectorize(lane)
            .fuse(vec, o, task)
            .parallel(task);
    }
    void reference(Problem &p) const override {
        auto equal = [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); };
        Array ties(p("y").shape);
        fill(p, [&](int64_t a, int64_t b, int64_t c, int64_t d) {
            return ties(a, c) += equal(p("x")(a, b, c, d), p("y")(a, c));
        });
        fill(p, [&](int64_t a, int64_t b, int64_t c, int64_t d) {
            return equal(p("x")(a, b, c, d), p("y")(a, c)) ? p("dy")(a, c) / ties(a, c) : 0;
        });
    }
};

}  // namespace

HALYARD_OPS {
    ops.add<ReduceSumDx>(false);
    ops.add<ReduceSumDx>(true);
    ops.add<ReduceExtremumDx>(true);
    ops.add<ReduceExtremumDx>(false);
}

}  // namespace halyard
