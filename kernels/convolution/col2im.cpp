// col2im: filters times dy gives what each output adds to the pixels under its taps, which are then
// added to the map. No product is with a zero between the elements of dy, for any stride, and few
// channels fill vectors, because a filter is one dimension, l. docs/kernel_measurements.md,
// "Gradients of maps with strides".
#include "kernels/convolution/conv2d.h"

namespace halyard {
namespace {

class Col2im : public ConvolutionVariant<Conv2dDx> {
public:
    using ConvolutionVariant::ConvolutionVariant;
    void algorithm(const Build &) override {
        const Expr u = size(d.u), v = size(d.v), w = size(d.w), h = size(d.h);
        filter(l, c) = op.weight(l % v, l / v % u, clamp(l / (u * v), 0, size(d.c) - 1), c);
        r = RDom(0, size(d.o));
        terms(l, x, y, n) += filter(l, r) * op.dy(clamp(x, 0, size(d.ow) - 1), y, r, n);
        columns(l, x, y, n) = terms(l, x, y, n);
        tap = RDom(0, v, 0, size(d.ow), 0, u, 0, size(d.oh));
        const Expr to_x = tap.y * stride_w + tap.x * dil_w - pad_left;
        const Expr to_y = tap.w * stride_h + tap.z * dil_h - pad_top;
        tap.where(to_x >= 0 && to_x < w && to_y >= 0 && to_y < h);
        map(x, y, c, n) = 0_r;
        map(clamp(to_x, 0, w - 1), clamp(to_y, 0, h - 1), c,
            n) += columns((c * u + tap.z) * v + tap.x, tap.y, tap.w, n);
        op.dx(x, y, c, n) = map(x, y, c, n);
    }
    void schedule(const Cpu &cpu) override {
        op.from_zero();
        const int v = cpu.lanes;
        const int tile = 3 * v;
        const int across = 2 * tile;
        const int pixels = cpu.pick("pixels", {cpu.has_32_registers() ? 8 : 4});
        Func o = store();
        Var block, ki, lo, li, xo, xi;
        Var px = var(0), pc = var(2), pn = var(3);
        o.vectorize(px, v, Tail::GuardWithIf).parallel(pc).parallel(pn);
        map.compute_at(o, pc).vectorize(x, v, Tail::RoundUp);
        map.update().reorder(tap.x, tap.y, tap.z, tap.w);
        columns.compute_at(o, pn)
            .split(l, block, ki, across, Tail::RoundUp)
            .split(ki, lo, li, tile)
            .split(x, xo, xi, pixels, Tail::RoundUp)
            .reorder(li, xi, lo, xo, y, n, block)
            .vectorize(li, v)
            .unroll(li)
            .unroll(xi)
            .parallel(block);
        filter.compute_at(columns, block)
            .bound_extent(l, across)
            .split(l, lo, li, v)
            .reorder(li, c, lo)
            .vectorize(li);
        terms.compute_at(columns, lo)
            .bound_extent(l, tile)
            .bound_extent(x, pixels)
            .vectorize(l, v)
            .unroll(l)
            .unroll(x);
        terms.update().reorder(l, x, r).vectorize(l, v).unroll(l).unroll(x);
    }
    using Implementation::schedule;

private:
    Func filter{"filter"}, terms{"terms"}, columns{"columns"}, map{"map"};
    Var l{"l"};
    RDom r, tap;
};

}  // namespace

// `polyphase` is faster where it applies, unless each element of the columns sums many products.
Variant col2im(Conv2dDx &op) {
    const ConvolutionDims &d = op.d;
    const DimExpr is_not_for_polyphase = d.c < 32 || d.w < 8 || d.dil_h > 1 || d.dil_w > 1;
    const DimExpr sums_many = d.o >= 256 && d.oh * d.ow <= 1024;
    return variant_of<Col2im>(op, "col2im",
                              d.group == 1 && d.stride_h * d.stride_w > 1 &&
                                  d.c * d.u * d.v >= lanes && (is_not_for_polyphase || sums_many));
}

}  // namespace halyard
