// Gradients of conv2d with images in the vector, for small maps of few channels; and gradients of
// filters with output channels, taps or pixels in the vector.
#include <algorithm>

#include "kernels/convolution/conv2d.h"

namespace halyard {
namespace {

// dx: taps outside dy are left out, so no zeros are multiplied.
class ImagesDx : public ConvolutionVariant<Conv2dDx> {
public:
    using ConvolutionVariant::ConvolutionVariant;
    void algorithm(const Build &) override {
        const Expr w = size(d.ow), h = size(d.oh);
        images(n, x, y, c) = op.dy(clamp(x, 0, w - 1), clamp(y, 0, h - 1), c,
                                   clamp(n, 0, size(d.n) - 1));
        r = RDom(0, size(d.v), 0, size(d.u), 0, size(d.o));
        const Expr from_x = x + pad_left - r.x * dil_w;
        const Expr from_y = y + pad_top - r.y * dil_h;
        r.where(from_y >= 0 && from_y < h && from_x >= 0 && from_x < w);
        sum(n, x, y, c) += op.weight(r.x, r.y, clamp(c, 0, size(d.c) - 1), r.z) *
                           images(n, from_x, from_y, r.z);
        op.dx(x, y, c, n) = sum(n, x, y, c);
    }
    void schedule(const Cpu &cpu) override {
        op.from_zero();
        Func o = store();
        const int v = cpu.lanes;
        const int channels = cpu.pick("tile_c", {6});
        Var no, ni, co, ci;
        Var px = var(0), py = var(1), pc = var(2), pn = var(3);
        o.split(pn, no, ni, v, Tail::GuardWithIf)
            .split(pc, co, ci, channels, Tail::GuardWithIf)
            .reorder(ni, ci, px, py, co, no)
            .vectorize(ni)
            .parallel(py)
            .parallel(no);
        o.specialize(o.output_buffer().dim(3).extent() % v == 0);
        sum.compute_at(o, px).bound_extent(n, v).bound_extent(c, channels).vectorize(n).unroll(c);
        sum.update().reorder(n, c, x, r.z, r.x, r.y).vectorize(n).unroll(c);
        images.compute_root().vectorize(n, v, Tail::RoundUp).parallel(c);
    }
    using Implementation::schedule;

private:
    Func images{"images"}, sum{"sum"};
    RDom r;
};

// dweight: partial sums `part` of each block of images, which total adds in their order.
class SumsOfBlocks : public ConvolutionVariant<Conv2dDweight> {
public:
    using ConvolutionVariant::ConvolutionVariant;
    void schedule(const Cpu &cpu) override {
        op.from_zero();
        schedule_parts(cpu);
        store().parallel(var(3));
        total.compute_at(store(), var(3));
        total.update().reorder(x, y, c, n, blocks);
    }
    using Implementation::schedule;

protected:
    Func part{"part"}, total{"total"}, terms{"terms"};
    Var l{"l"}, b{"b"};
    RDom r, blocks;

    virtual void schedule_parts(const Cpu &cpu) = 0;
    void add_parts() {
        total(x, y, c, n) += part(x, y, c, n, blocks);
        op.dweight(x, y, c, n) = total(x, y, c, n);
    }
};

class Pixels : public SumsOfBlocks {
public:
    using SumsOfBlocks::SumsOfBlocks;
    void algorithm(const Build &) override {
        padded = op.zero_outside(op.in_x, size(d.w), size(d.h), size(d.c));
        const Expr N = size(d.n), ow = size(d.ow);
        const Expr last = size(d.o) - 1;
        wide(x, y, c, n) = select(
            x < ow, op.dy(clamp(x, 0, ow - 1), y, clamp(c, 0, last), clamp(n, 0, N - 1)), 0_r);
        r = RDom(0, (ow + width - 1) / width, 0, size(d.oh), 0, block);
        pixel = RDom(0, width);
        blocks = RDom(0, (N + block - 1) / block);
        r.where(b * block + r.z < N);
        const Expr at = r.x * width + l;
        const Expr image = b * block + r.z;
        const Expr first = op.first_of_group(clamp(n, 0, last), size(d.o / d.group),
                                             size(d.c / d.group));
        // r.where keeps image below N, but bounds inference doesn't always find that: an
        // unscheduled kernel would read images beyond the last.
        terms(l, x, y, c, n, b) += wide(at, r.y, n, image) * padded(op.at_x(at, x), op.at_y(r.y, y),
                                                                    first + c, min(image, N - 1));
        part(x, y, c, n, b) += terms(pixel, x, y, c, n, b);
        add_parts();
    }

private:
    static constexpr int width = 16;  // pixels of a row that are summed separately
    static constexpr int block = 4;   // images of a block
    Func padded, wide{"wide"};
    RDom pixel;

    void schedule_parts(const Cpu &cpu) override {
        const int v = cpu.lanes;
        const int taps = 3;
        const int outs = std::max(1, (cpu.has_32_registers() ? 18 : 9) / (width / v * taps));
        Var no, ni, xo, xi;
        padded.compute_root().parallel(c).parallel(n).vectorize(x, v, Tail::RoundUp);
        wide.compute_root().parallel(c).parallel(n).vectorize(x, v, Tail::RoundUp);
        part.compute_root().parallel(n).parallel(b);
        part.update()
            .split(n, no, ni, outs, Tail::GuardWithIf)
            .split(x, xo, xi, taps, Tail::GuardWithIf)
            .reorder(pixel, xi, ni, xo, y, c, no, b);
        part.update().atomic().vectorize(pixel).parallel(no).parallel(b);
        terms.compute_at(part, xo)
            .bound_extent(l, width)
            .bound_extent(n, outs)
            .bound_extent(x, taps)
            .vectorize(l, v)
            .unroll(l)
            .unroll(x)
            .unroll(n);
        terms.update()
            .reorder(l, x, n, r.x, r.y, r.z)
            .vectorize(l, v)
            .unroll(l)
            .unroll(x)
            .unroll(n);
        terms.update().specialize(op.groups == 1 && stride_w == 1 && dil_w == 1);
    }
};

// One sum per image is in registers, with output channels in the vector. The images of a block are
// added in L2.
class Channels : public SumsOfBlocks {
public:
    using SumsOfBlocks::SumsOfBlocks;
    void algorithm(const Build &) override {
        padded = op.zero_outside(op.in_x, size(d.w), size(d.h), size(d.c));
        const Expr N = size(d.n);
        wide(n, x, y, l) = op.dy(x, y, clamp(n, 0, size(d.o) - 1), l);
        r = RDom(0, size(d.ow), 0, size(d.oh));
        image = RDom(0, block);
        blocks = RDom(0, (N + block - 1) / block);
        image.where(b * block + image < N);
        terms(n, c, x, y, l) += wide(n, r.x, r.y, l) *
                                padded(op.at_x(r.x, x), op.at_y(r.y, y), c, l);
        part(x, y, c, n, b) += terms(n, c, x, y, b * block + image);
        add_parts();
    }

private:
    static constexpr int block = 4;  // images of a block
    Func padded, wide{"wide"};
    RDom image;

    void schedule_parts(const Cpu &cpu) override {
        const int v = cpu.lanes;
        const int outs = 2 * v;
        const int ins = cpu.pick("tile_c", {cpu.has_32_registers() ? 4 : 2});
        const int taps = 3;
        const int strip = cpu.pick("strip", {64, 16});
        Var no, ni, co, ci, cb, cm, xo, xi;
        padded.compute_root().parallel(c).parallel(n).vectorize(x, v, Tail::RoundUp);
        part.reorder_storage(n, c, x, y, b)
            .compute_root()
            .reorder(n, c, x, y, b)
            .vectorize(n, v, Tail::RoundUp)
            .parallel(c)
            .parallel(b);
        part.update()
            .split(n, no, ni, outs, Tail::GuardWithIf)
            .split(c, cb, cm, strip, Tail::GuardWithIf)
            .split(cm, co, ci, ins, Tail::GuardWithIf)
            .split(x, xo, xi, taps, Tail::GuardWithIf);
        part.update()
            .reorder(ni, ci, xi, xo, y, co, image, cb, no, b)
            .vectorize(ni, v)
            .parallel(b)
            .parallel(no)
            .parallel(cb);
        terms.compute_at(part, xo)
            .bound_extent(n, outs)
            .bound_extent(c, ins)
            .bound_extent(x, taps)
            .vectorize(n, v)
            .unroll(n)
            .unroll(c)
            .unroll(x);
        terms.update().reorder(n, c, x, r.x, r.y).vectorize(n, v).unroll(n).unroll(c).unroll(x);
        wide.compute_at(part, image).bound_extent(n, outs).vectorize(n, v).unroll(n);
    }
};

// A block is a vector of images.
class Images : public SumsOfBlocks {
public:
    using SumsOfBlocks::SumsOfBlocks;
    void algorithm(const Build &build) override {
        const int lanes = build.lanes;
        const Expr N = size(d.n), w = size(d.w), h = size(d.h);
        const Expr inside = x >= 0 && x < w && y >= 0 && y < h;
        images(l, x, y, c,
               b) = select(b * lanes + l < N && inside,
                           op.in_x(clamp(x, 0, w - 1), clamp(y, 0, h - 1),
                                   clamp(c, 0, size(d.c) - 1), clamp(b * lanes + l, 0, N - 1)),
                           0_r);
        wide(l, x, y, c, b) = select(
            b * lanes + l < N,
            op.dy(x, y, clamp(c, 0, size(d.o) - 1), clamp(b * lanes + l, 0, N - 1)), 0_r);
        r = RDom(0, size(d.ow), 0, size(d.oh));
        image = RDom(0, lanes);
        blocks = RDom(0, (N + lanes - 1) / lanes);
        terms(l, x, y, c, n, b) += wide(l, r.x, r.y, n, b) *
                                   images(l, op.at_x(r.x, x), op.at_y(r.y, y), c, b);
        part(x, y, c, n, b) += terms(image, x, y, c, n, b);
        add_parts();
    }

private:
    Func images{"images"}, wide{"wide"};
    RDom image;

    void schedule_parts(const Cpu &cpu) override {
        const int v = cpu.lanes;
        const int outs = 2;
        const int taps = cpu.pick("taps", {5, 3});
        Var no, ni, xo, xi;
        images.compute_root().bound(l, 0, v).vectorize(l).parallel(c).parallel(b);
        wide.compute_root().bound(l, 0, v).vectorize(l).parallel(c).parallel(b);
        part.compute_root().parallel(c).parallel(b);
        part.update()
            .split(n, no, ni, outs, Tail::GuardWithIf)
            .split(x, xo, xi, taps, Tail::GuardWithIf)
            .reorder(image, xi, ni, xo, no, y, c, b);
        part.update().atomic().vectorize(image).parallel(c).parallel(b);
        terms.compute_at(part, xo)
            .bound_extent(l, v)
            .bound_extent(n, outs)
            .bound_extent(x, taps)
            .vectorize(l)
            .unroll(x)
            .unroll(n);
        terms.update().reorder(l, x, n, r.x, r.y).vectorize(l).unroll(x).unroll(n);
    }
};

// Large filters of few channels: a filter, as 8 x 8 taps, is one dimension, l, which is vectorised.
// A row of dy is summed in registers. docs/kernel_measurements.md, "Gradients of filters".
class Taps : public ConvolutionVariant<Conv2dDweight> {
public:
    using ConvolutionVariant::ConvolutionVariant;
    void algorithm(const Build &) override {
        padded = op.zero_outside(op.in_x, size(d.w), size(d.h), size(d.c));
        patches(l, x, c, y, n) = padded(op.at_x(x, l % side), op.at_y(y, l / side), c, n);
        r = RDom(0, size(d.ow));
        rows = RDom(0, size(d.oh), 0, size(d.n));
        terms(l, c, n, y, b) += patches(l, r, c, y, b) * op.dy(r, y, clamp(n, 0, size(d.o) - 1), b);
        part(l, c, n) += terms(l, c, n, rows.x, rows.y);
        op.dweight(x, y, c, n) = part(y * side + x, c, n);
    }
    void schedule(const Cpu &cpu) override {
        op.from_zero();
        const int v = cpu.lanes;
        const int tile = 4 * v;
        const int outs = cpu.pick("outs", {cpu.has_32_registers() ? 4 : 2});
        const int strip = cpu.pick("strip", {64, 32});
        Func o = store();
        Var lo, li, no, ni, ns;
        o.split(var(3), ns, ni, strip, Tail::GuardWithIf)
            .reorder(var(0), var(1), ni, var(2), ns)
            .parallel(var(2))
            .parallel(ns);
        padded.compute_root().parallel(c).parallel(n).vectorize(x, v, Tail::RoundUp);
        part.compute_at(o, var(2)).bound_extent(l, side * side).vectorize(l, v);
        part.update()
            .split(n, no, ni, outs, Tail::RoundUp)
            .split(l, lo, li, tile)
            .reorder(li, ni, c, lo, no, rows.x, rows.y)
            .vectorize(li, v)
            .unroll(li)
            .unroll(ni);
        patches.compute_at(part, rows.x).bound_extent(l, side * side).vectorize(l, side);
        terms.compute_at(part, lo)
            .bound_extent(l, tile)
            .bound_extent(n, outs)
            .vectorize(l, v)
            .unroll(l)
            .unroll(n);
        terms.update().reorder(l, n, r).vectorize(l, v).unroll(l).unroll(n);
    }
    using Implementation::schedule;

private:
    static constexpr int side = 8;
    Func padded, patches{"patches"}, part{"part"}, terms{"terms"};
    Var l{"l"}, b{"b"};
    RDom r, rows;
};

}  // namespace

Variant images_in_lanes(Conv2dDx &op) {
    const ConvolutionDims &d = op.d;
    return variant_of<ImagesDx>(op, "images_in_lanes",
                                d.group == 1 && d.stride_h == 1 && d.stride_w == 1 && d.n >= 16 &&
                                    d.c < 16 && d.w < 32);
}
Variant images_in_lanes(Conv2dDweight &op) {
    const ConvolutionDims &d = op.d;
    return variant_of<Images>(op, "images_in_lanes",
                              d.group == 1 && d.n >= 16 && d.oh * d.ow <= 1024);
}
Variant channels_in_lanes(Conv2dDweight &op) {
    const ConvolutionDims &d = op.d;
    return variant_of<Channels>(op, "channels_in_lanes",
                                d.group == 1 && d.o >= 32 && d.u == 3 && d.v == 3 && d.c >= 32);
}
Variant taps_in_lanes(Conv2dDweight &op) {
    const ConvolutionDims &d = op.d;
    return variant_of<Taps>(op, "taps_in_lanes",
                            d.group == 1 && d.u <= 8 && d.v <= 8 && d.u * d.v >= 25 && d.c <= 4 &&
                                d.o >= 4 && (d.n < 16 || d.oh * d.ow > 1024));
}
Variant direct(Conv2dDweight &op) {
    return variant_of<Pixels>(op, "direct", DimExpr::always());
}
Variant thread_sums(Conv2dDweight &op) {
    return variant_of<Pixels>(op, "thread_sums", DimExpr::always());
}

}  // namespace halyard
