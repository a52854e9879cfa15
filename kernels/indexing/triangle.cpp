// tril and triu: one kernel that keeps a band of diagonals.
#include "dsl/dtypes.h"
#include "kernels/layout/composite.h"

namespace halyard {
namespace {

using Halide::Expr;

constexpr int task_elements = 65536;

// Also its own adjoint (primitives/autograd/composed_gradient.cpp).
struct Band : Op {
    Band() : Op("band_kernel", "x[..n,r,c] -> y[..n,r,c]") {
        doc = "y[i, j] = x[i, j] where lower <= j - i <= upper, else 0";
        internal = copies_bits = true;
        dtypes = all_dtypes;
        samples = {"n=1 r=1 c=1",
                   "n=2 r=3 c=7 upper=1",
                   "n=1 r=17 c=16 lower=-2",
                   "n=3 r=5 c=33 lower=1 upper=30",
                   "n=1 r=65 c=31 lower=5 upper=2",
                   "n=2 r=300 c=129 lower=-100 upper=-1"};
        bench = {"n=1 r=2048 c=2048 upper=0", "n=64 r=128 c=128 upper=0"};
        contract = {Contract::elementwise, 0};
    }
    Func x = input("x");
    Func y = output("y");
    Expr lower = scalar("lower", -0x7fffffff), upper = scalar("upper", 0x7fffffff);
    Var c{"c"}, r{"r"}, n{"n"};

    void algorithm() override {
        // Within what the differences reach: Halide may turn c - r <= upper into c <= r + upper,
        // which wraps.
        const Expr from = clamp(lower, -size("r"), size("c"));
        const Expr to = clamp(upper, -size("r"), size("c"));
        y(c, r, n) = select(c - r >= from && c - r <= to, x(c, r, n), 0_r);
    }
    void schedule(const Cpu &cpu) override {
        Func last = store();
        Var vec("vec"), lane("lane"), row("row"), task("task");
        last.split(var(0), vec, lane, cpu.lanes, Tail::GuardWithIf)
            .vectorize(lane)
            .fuse(var(1), var(2), row);
        last.split(row, task, row, max(1, task_elements / max(1, size("c"))), Tail::GuardWithIf)
            .parallel(task);
    }
    void reference(Problem &p) const override {
        for (int64_t a = 0; a < p["n"]; a++) {
            for (int64_t i = 0; i < p["r"]; i++) {
                for (int64_t j = 0; j < p["c"]; j++) {
                    p("y")(a, i, j) = j - i >= p["lower"] && j - i <= p["upper"] ? p("x")(a, i, j)
                                                                                 : 0;
                }
            }
        }
    }
};

struct Triangle : Composite {
    const bool upper;
    explicit Triangle(bool is_upper)
        : Composite(is_upper ? "triu" : "tril", "x[*] -> y[*]",
                    is_upper ? "y[..., i, j] = x[..., i, j] where j - i >= diagonal, else 0"
                             : "y[..., i, j] = x[..., i, j] where j - i <= diagonal, else 0"),
          upper(is_upper) {
        at_call("diagonal", AttrKind::integer, "0");
        samples = {"d0=1 d1=1 d2=1", "d0=2 d1=3 d2=5 diagonal=1", "d0=1 d1=17 d2=7 diagonal=-3",
                   "d0=1 d1=2 d2=3 diagonal=99999999999"};
    }
    void reference(Problem &p) const override {
        Array y = p("x");
        const int64_t rows = y.shape[1];
        const int64_t columns = y.shape[2];
        for (int64_t e = 0; e < int64_t(y.v.size()); e++) {
            const int64_t place = e % columns - e / columns % rows;
            if (upper ? place < p["diagonal"] : place > p["diagonal"]) y.v[size_t(e)] = 0;
        }
        p.tensors["y"] = y;
    }
};

}  // namespace

HALYARD_OPS {
    ops.add<Band>();
    ops.add<Triangle>(false);
    ops.add<Triangle>(true);
}

}  // namespace halyard
