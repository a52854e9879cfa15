// new_op: a sum over a window. The example is the convolution of conv2d: the base class Convolution
// supplies its attributes, shapes and samples.
#include "kernels/convolution/convolution.h"

namespace halyard {
namespace {

struct NewOp : Convolution {
    NewOp() : Convolution("new_op", "x[n,c,h,w] weight[o,c/group,u,v] -> y[n,o,oh,ow]") {
        doc = "y[o] = sum over c, u, v of weight[o,c,u,v] * x[c], shifted by (u, v) * dilation";
        // Dispatch takes the first variant whose condition holds; the last one takes every shape.
        add({"packed",
             d.group == 1 && d.o >= 32 && d.ow >= 5,
             {.algorithm = [this](const Build &) { correlate(0); },
              .schedule = [this](const Cpu &cpu) { schedule_packed(cpu); }}});
        add({"any", DimExpr::always()});
    }
    Func in_x = input("x"), weight = input("weight");
    Func out_y = output("y");
    Func padded, filter{"filter"}, sum{"sum"};
    RDom r;

    // Algorithms are written over the reals, without a dtype. Indices are innermost first.
    void algorithm() override {
        correlate(
            first_of_group(clamp(c, 0, size(d.o) - 1), size(d.o / d.group), size(d.c / d.group)));
    }
    // `first` is the first input channel that an output channel reads.
    void correlate(const Expr &first) {
        padded = zero_outside(in_x, size(d.w), size(d.h), size(d.c));
        filter(x, y, c, n) = weight(x, y, c, clamp(n, 0, size(d.o) - 1));
        r = RDom(0, size(d.v), 0, size(d.u), 0, size(d.c / d.group));
        sum(x, y, c, n) += filter(r.x, r.y, r.z, c) * padded(x * stride_w + r.x * dil_w - pad_left,
                                                             y * stride_h + r.y * dil_h - pad_top,
                                                             first + r.z, n);
        out_y(x, y, c, n) = sum(x, y, c, n);
    }
    void schedule_packed(const Cpu &cpu) {
        from_zero();
        channel_tiles(cpu, channel_tile(cpu), padded, filter, sum, r);
    }
    void schedule(const Cpu &cpu) override {
        from_zero();
        pixel_tiles(cpu, padded, sum, r);
        store().specialize(groups == 1 && stride_w == 1 && dil_w == 1);
        store().specialize(groups == 1);
    }
    // The reference is the naive formula in double. The contract measures errors against the sum of
    // the terms' absolute values, which it therefore supplies too.
    void reference(Problem &p) const override {
        const Array &in = p("x"), &k = p("weight");
        Array &out = p("y");
        Array &abs_sum = p.abs_sum["y"] = Array(out.shape);
        const int64_t per_group = p["c"] / p["group"];
        each_product(p, [&](int64_t i, int64_t o, int64_t oy, int64_t ox, int64_t ch, int64_t iy,
                            int64_t ix, int64_t u, int64_t v, bool real) {
            if (!real) return;
            const double term = k(o, ch % per_group, u, v) * in(i, ch, iy, ix);
            out(i, o, oy, ox) += term;
            abs_sum(i, o, oy, ox) += std::fabs(term);
        });
        // Infinity times a zero of the padding is NaN in a kernel; the reference doesn't multiply
        // it.
        excuse(p, "y", false, [&](int64_t, int64_t o) {
            bool any = false;
            for (int64_t ch = 0; ch < per_group; ch++)
                any |= any_special(k, o, ch);
            return any;
        });
    }
};

}  // namespace
HALYARD_OPS {
    ops.add<NewOp>();
}
}  // namespace halyard
