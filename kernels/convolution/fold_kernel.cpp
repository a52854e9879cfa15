// The kernel of fold (col2im), in which every element sums what the windows have of it:
// primitives/composites/convolution/unfold.cpp.
#include <cmath>

#include "dsl/op.h"

namespace halyard {
namespace {

using Halide::clamp;
using Halide::Expr;
using Halide::likely;

constexpr int task_elements = 16384;

// y[m,i,j] = the sum over u, v of x[m,u,v,p,q] where p stride_h + u dilation_h - pad_h = i and q
// stride_w + v dilation_w - pad_w = j.
struct Fold : Op {
    Fold() : Op("fold_kernel", "x[m,u,v,p,q] -> y[m,h,w]") {
        internal = true;
        required("output_size", AttrKind::ints, {"h", "w"});
        ints("dilation", "1,1", {"dilation_h", "dilation_w"});
        ints("padding", "0,0", {"pad_h", "pad_w"});
        ints("stride", "1,1", {"stride_h", "stride_w"});
        conditions = {"stride_h>=1", "stride_w>=1", "p>0", "q>0"};
        samples = {"m=1 u=1 v=1 p=1 q=1 output_size=1,1", "m=2 u=3 v=3 p=5 q=7 output_size=7,9",
                   "m=1 u=2 v=3 p=4 q=16 output_size=8,33 stride=2,2 padding=0,1",
                   "m=3 u=3 v=2 p=3 q=17 output_size=7,52 stride=2,3 dilation=2,3 padding=1,0",
                   "m=1 u=3 v=5 p=9 q=67 output_size=9,67 padding=1,2"};
        bench = {"m=64 u=3 v=3 p=56 q=56 output_size=56,56 padding=1,1",
                 "m=64 u=3 v=3 p=28 q=28 output_size=56,56 padding=1,1 stride=2,2"};
        contract = {Contract::products, 8};
    }
    Func x = input("x");
    Func y = output("y");
    Func sum{"sum"};
    Expr sh = derived("stride_h", "stride_h"), sw = derived("stride_w", "stride_w"),
         dh = derived("dilation_h", "dilation_h"), dw = derived("dilation_w", "dilation_w"),
         ph = derived("pad_h", "pad_h"), pw = derived("pad_w", "pad_w");
    Var i{"i"}, j{"j"}, m{"m"};
    RDom r;

    void algorithm() override {
        r = RDom(0, size("v"), 0, size("u"));
        const Expr down = i + ph - r.y * dh;
        const Expr across = j + pw - r.x * dw;
        const Expr p = down / sh;
        const Expr q = across / sw;
        r.where(down >= 0 && down % sh == 0 && p < size("p"));
        const Expr inside = likely(across >= 0 && q < size("q")) && across % sw == 0;
        sum(j, i, m) = 0_r;
        sum(j, i, m) += select(
            inside, x(clamp(likely(q), 0, size("q") - 1), clamp(p, 0, size("p") - 1), r.x, r.y, m),
            0_r);
        y(j, i, m) = sum(j, i, m);
    }
    void schedule(const Cpu &cpu) override {
        Func last = store();
        Var vec("vec"), lane("lane"), row("row"), task("task");
        last.split(var(0), vec, lane, cpu.lanes, Tail::GuardWithIf)
            .vectorize(lane)
            .fuse(var(1), var(2), row);
        last.split(row, task, row,
                   max(1, task_elements / max(1, last.output_buffer().dim(0).extent())),
                   Tail::GuardWithIf)
            .parallel(task);
        sum.compute_at(last, vec).bound_extent(j, cpu.lanes).vectorize(j).update().vectorize(j);
        // Other strides divide lane by lane.
        last.specialize(sw == 1);
        last.specialize(sw == 2);
    }
    void reference(Problem &p) const override {
        p("y") = Array(p("y").shape);
        Array &terms = p.abs_sum["y"] = Array(p("y").shape);
        for (int64_t a = 0; a < p["m"]; a++) {
            for (int64_t u = 0; u < p["u"]; u++) {
                for (int64_t v = 0; v < p["v"]; v++) {
                    for (int64_t b = 0; b < p["p"]; b++) {
                        for (int64_t c = 0; c < p["q"]; c++) {
                            const int64_t to_i = b * p["stride_h"] + u * p["dilation_h"] -
                                                 p["pad_h"];
                            const int64_t to_j = c * p["stride_w"] + v * p["dilation_w"] -
                                                 p["pad_w"];
                            if (to_i < 0 || to_i >= p["h"] || to_j < 0 || to_j >= p["w"]) continue;
                            p("y")(a, to_i, to_j) += p("x")(a, u, v, b, c);
                            terms(a, to_i, to_j) += std::fabs(p("x")(a, u, v, b, c));
                        }
                    }
                }
            }
        }
    }
};

}  // namespace

HALYARD_OPS {
    ops.add<Fold>();
}

}  // namespace halyard
