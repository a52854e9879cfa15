// Elements by their place in each row, and its adjoint: what the gradients of sorting and of running extrema stand on.
#include <cmath>

#include "dsl/op.h"

namespace halyard {
namespace {

using Halide::Expr;

constexpr int task_elements = 16384;

// y[n,m] = x[n,index[n,m]]; a place outside of [0, c) is taken as the nearest one inside.
struct TakeAlong : Op {
    TakeAlong() : Op("take_along_kernel", "x[n,c] index:i32[n,m] -> y[n,m]") {
        internal = moves = true;
        let("index_end", "c");
        conditions = {"c>0"};
        dtypes = {"f32", "f16", "bf16", "f64", "i64", "i32", "i8", "u8"};
        samples = {"n=1 c=1 m=1", "n=3 c=7 m=5", "n=2 c=31 m=33", "n=33 c=10 m=1", "n=1 c=1000 m=20011"};
        bench = {"n=4096 c=1024 m=10", "n=1 c=1048576 m=1048576"};
        contract = {Contract::elementwise, 0};
    }
    Func x = input("x"), index = input("index"), y = output("y");
    Var m{"m"}, n{"n"};

    void algorithm() override { y(m, n) = x(clamp(index(m, n), 0, size("c") - 1), n); }
    void schedule(const Cpu &cpu) override {
        Func last = store();
        Var vec("vec"), lane("lane"), row("row"), task("task");
        const int vectors = task_elements / cpu.lanes;
        last.split(var(0), vec, lane, cpu.lanes, Tail::GuardWithIf).vectorize(lane).fuse(vec, var(1), row);
        last.split(row, task, row, vectors, Tail::GuardWithIf).parallel(task);
    }
    void reference(Problem &p) const override {
        for (int64_t a = 0; a < p["n"]; a++)
            for (int64_t b = 0; b < p["m"]; b++) {
                const int64_t at = (int64_t)p("index")(a, b);
                p("y")(a, b) = at < p["c"] ? p("x")(a, at) : 0;
            }
    }
};

// dx[n,k] = the sum of dy[n,m] over the m whose place is k, in their order. x is there for its shape alone.
struct TakeAlongDx : Op {
    TakeAlongDx() : Op("take_along_kernel_dx", "x[n,c] index:i32[n,m] dy[n,m] -> dx[n,c]") {
        internal = true;
        let("index_end", "c");
        conditions = {"c>0"};
        samples = {"n=1 c=1 m=1", "n=3 c=7 m=5", "n=2 c=31 m=33", "n=33 c=10 m=1", "n=1 c=1000 m=4009"};
        bench = {"n=4096 c=1024 m=10", "n=4096 c=1024 m=1024"};
        contract = {Contract::products, 8};
    }
    Func x = input("x"), index = input("index"), dy = input("dy"), dx = output("dx"), sum{"sum"};
    Var k{"k"}, n{"n"};
    RDom r;

    void algorithm() override {
        r = RDom(0, size("m"));
        const Expr place = clamp(index(r, n), 0, size("c") - 1);
        sum(k, n) = 0_r;
        sum(place, n) = sum(place, n) + dy(r, n);
        dx(k, n) = sum(k, n);
    }
    void schedule(const Cpu &cpu) override {
        Func last = store();
        Var vec("vec"), lane("lane"), row("row"), task("task");
        last.split(var(1), task, row, max(1, task_elements / max(1, size("c") + size("m"))), Tail::GuardWithIf).parallel(task);
        last.split(var(0), vec, lane, cpu.lanes, Tail::GuardWithIf).vectorize(lane);
        sum.compute_at(last, row).split(k, vec, lane, cpu.lanes, Tail::GuardWithIf).vectorize(lane);
    }
    void reference(Problem &p) const override {
        Array &size = p.magnitude["dx"] = Array(p("dx").shape), hits(p("dx").shape);
        p("dx") = Array(p("dx").shape);
        for (int64_t a = 0; a < p["n"]; a++)
            for (int64_t b = 0; b < p["m"]; b++) {
                const int64_t at = (int64_t)p("index")(a, b);
                if (at >= p["c"]) continue;
                p("dx")(a, at) += p("dy")(a, b);
                size(a, at) += std::fabs(p("dy")(a, b));
                hits(a, at)++;
            }
        for (size_t e = 0; e < size.v.size(); e++) size.v[e] *= std::fmax(1, hits.v[e] / 16);  // one rounding each
    }
};

}  // namespace

HALYARD_OPS {
    ops.add<TakeAlong>();
    ops.add<TakeAlongDx>();
}

}  // namespace halyard
