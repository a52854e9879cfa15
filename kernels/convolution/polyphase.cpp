// Polyphase decomposition: for strides above 1, pixels whose coordinates have the same remainders
// (a, b) have the same taps, so that no zeros are multiplied. docs/kernel_measurements.md,
// "Polyphase".
#include "kernels/convolution/conv2d.h"

namespace halyard {
namespace {

class Polyphase : public ConvolutionVariant<Conv2dDx> {
public:
    using ConvolutionVariant::ConvolutionVariant;
    void algorithm(const Build &) override {
        const Expr first_x = (a + pad_left) % stride_w;
        const Expr first_y = (b + pad_top) % stride_h;
        padded = op.padded_dy();
        filter(x, y, c, n) = op.weight(clamp(x, 0, size(d.v) - 1), clamp(y, 0, size(d.u) - 1),
                                       clamp(n, 0, size(d.c) - 1), c);
        r = RDom(0, (size(d.v) + stride_w - 1) / stride_w, 0, (size(d.u) + stride_h - 1) / stride_h,
                 0, size(d.o));
        const Expr tap_x = first_x + r.x * stride_w;
        const Expr tap_y = first_y + r.y * stride_h;
        r.where(tap_x < size(d.v) && tap_y < size(d.u));
        sum(x, y, a, b, c, n) += filter(tap_x, tap_y, r.z, c) *
                                 padded(x + (a + pad_left) / stride_w - r.x,
                                        y + (b + pad_top) / stride_h - r.y, r.z, n);
        phases(x, y, a, b, c, n) = sum(x, y, a, b, c, n);
        op.dx(x, y, c, n) = phases(x / stride_w, y / stride_h, x % stride_w, y % stride_h, c, n);
    }
    void schedule(const Cpu &cpu) override {
        op.from_zero();
        Func o = store();
        const int v = cpu.lanes;
        const int block = v * (cpu.has_32_registers() ? 2 : 1);
        const int across = 7, down = 2;
        const int strip = cpu.pick("strip", {16, 32});
        Var co, ci, yo, yi, xo, xi;
        Var px = var(0), py = var(1), pc = var(2), pn = var(3);
        o.split(pc, co, ci, block, Tail::GuardWithIf)
            .split(py, yo, yi, strip, Tail::GuardWithIf)
            .reorder(ci, px, yi, yo, pn, co);
        o.vectorize(ci, v).parallel(co).parallel(pn).parallel(yo);
        padded.compute_root().parallel(c).parallel(n).vectorize(x, v, Tail::RoundUp);
        filter.compute_at(o, co)
            .reorder_storage(n, c, x, y)
            .reorder(n, x, y, c)
            .bound_extent(n, block)
            .vectorize(n, v)
            .unroll(n);
        phases.compute_at(o, yo)
            .bound_extent(c, block)
            .reorder_storage(c, x, y, a, b, n)
            .split(x, xo, xi, across, Tail::RoundUp)
            .split(y, yo, yi, down, Tail::RoundUp);
        phases.reorder(c, xi, yi, xo, yo, a, b, n).vectorize(c, v).unroll(c).unroll(xi).unroll(yi);
        sum.compute_at(phases, xo)
            .bound_extent(x, across)
            .bound_extent(y, down)
            .bound_extent(c, block)
            .reorder_storage(c, x, y, a, b, n);
        sum.reorder(c, x, y).vectorize(c, v).unroll(c).unroll(x).unroll(y);
        sum.update()
            .reorder(c, x, y, r.z, r.x, r.y, a, b, n)
            .vectorize(c, v)
            .unroll(c)
            .unroll(x)
            .unroll(y);
    }
    using Implementation::schedule;

private:
    Func padded, filter{"filter"}, sum{"sum"}, phases{"phases"};
    Var a{"a"}, b{"b"};
    RDom r;
};

}  // namespace

Variant polyphase(Conv2dDx &op) {
    const ConvolutionDims &d = op.d;
    return variant_of<Polyphase>(op, "polyphase",
                                 d.group == 1 && d.dil_h == 1 && d.dil_w == 1 &&
                                     d.stride_h * d.stride_w > 1 && d.c >= 32 && d.w >= 8);
}

}  // namespace halyard
