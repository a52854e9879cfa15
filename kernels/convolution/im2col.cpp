// im2col: the pixels under each tap become the rows of a matrix, by which filters are multiplied.
#include <utility>

#include "kernels/convolution/conv2d.h"
#include "kernels/convolution/padded_map.h"

namespace halyard {
namespace {

const Tunable tile_v{"tile_v"}, outs{"outs"};  // vectors of pixels, and channels, of a tile

// conv2d with stride 2 and small maps: filters as they are stored by a matrix that has a row for
// each tap and the output's pixels as one row. A row of pixels is written in whole vectors; the
// next row overwrites their excess. The times beside oneDNN's: docs/kernel_measurements.md,
// "im2col".
class Im2col : public ConvolutionVariant<Conv2d> {
public:
    using ConvolutionVariant::ConvolutionVariant;
    void algorithm(const Build &) override {
        map = PaddedMap("map", op.in_x, {size(d.w), pad_left}, {size(d.h), pad_top});
        const Expr ow = size(d.ow);
        r = RDom(0, size(d.v), 0, size(d.u), 0, size(d.c));
        pixel = RDom(0, (ow + short_row - 1) / short_row * short_row, 0, size(d.oh));
        patches(k, x, y, c, n) = 0_r;
        patches(pixel.x + pixel.y * ow, x, y, c, n) = map(pixel.x * 2 + x, pixel.y * 2 + y, c, n);
        sum(k, c, n) += op.weight(r.x, r.y, r.z, c) * patches(k, r.x, r.y, r.z, n);
        flat(k, c, n) = sum(k, c, n);
        op.out_y(x, y, c, n) = op.epilogue(flat(x + y * ow, c, n));
    }
    void schedule(const Cpu &cpu) override {
        op.from_zero();
        Func o = store();
        const int across = cpu.lanes * cpu.pick(tile_v, {2});
        const int channels = cpu.pick(outs, {cpu.has_32_registers() ? 12 : 4});
        Var co, ci, lo, li, xo, xi;
        Var px = var(0), py = var(1), pc = var(2), pn = var(3);
        o.split(pc, co, ci, channels, Tail::ShiftInwards)
            .split(px, xo, xi, cpu.lanes, Tail::GuardWithIf)
            .reorder(xi, xo, py, ci, co, pn)
            .vectorize(xi);
        // overlapping blocks of channels, as in pointwise.cpp
        if (!cpu.target.has_feature(Halide::Target::TSAN)) o.parallel(co);
        o.parallel(pn);
        patches.compute_root().vectorize(k, cpu.lanes, Tail::RoundUp).parallel(c).parallel(n);
        // The vectors of a row don't overlap.
        patches.update()
            .allow_race_conditions()
            .reorder(pixel.x, pixel.y, x, y, c, n)
            .parallel(c)
            .parallel(n);
        patches.update().vectorize(RVar(pixel.x), short_row);
        map.compute_at(patches, c, cpu.lanes);
        flat.compute_at(o, co)
            .bound_extent(c, channels)
            .split(k, lo, li, across, Tail::RoundUp)
            .reorder(li, c, lo)
            .vectorize(li, cpu.lanes)
            .unroll(li)
            .unroll(c);
        sum.compute_at(flat, lo)
            .bound_extent(k, across)
            .bound_extent(c, channels)
            .vectorize(k, cpu.lanes)
            .unroll(k)
            .unroll(c);
        sum.update().reorder(k, c, r.x, r.y, r.z).vectorize(k, cpu.lanes).unroll(k).unroll(c);
        sum.update().specialize(size(d.v) == 1 && size(d.u) == 1);
    }
    using Implementation::schedule;

private:
    static constexpr int short_row = 8;
    Func patches{"patches"}, flat{"flat"}, sum{"sum"};
    PaddedMap map;
    Var k{"k"};
    RDom r, pixel;
};

// Unrolls the sums of a tile, which has these extents: their number is that of registers.
void keep_in_registers(Halide::Func terms, const std::pair<Halide::Var, int> &across,
                       const std::pair<Halide::Var, int> &down, const Halide::RDom &pixels,
                       int lanes) {
    const Halide::Var &l = across.first, &c = down.first;
    terms.bound_extent(l, across.second)
        .bound_extent(c, down.second)
        .vectorize(l, lanes)
        .unroll(l)
        .unroll(c);
    terms.update().reorder(l, c, pixels.x, pixels.y).vectorize(l, lanes).unroll(l).unroll(c);
}

// conv2d_dweight with square filters of `side`: a product of the matrices dy[o, pixels] and
// patches[pixels, taps]. A row of the result is a filter as it is stored: c by u by v is one
// dimension, l, which is vectorised. docs/kernel_measurements.md, "Gradients of filters".
class Im2colDweight : public ConvolutionVariant<Conv2dDweight> {
public:
    Im2colDweight(Conv2dDweight &op, int side) : ConvolutionVariant(op), side_(side) {}
    void algorithm(const Build &) override {
        padded = op.zero_outside(op.in_x, size(d.w), size(d.h), size(d.c));
        const int taps = side_ * side_;
        const Expr tap = l % taps;
        patches(l, x, y, n) = padded(op.at_x(x, tap % side_), op.at_y(y, tap / side_), l / taps, n);
        r = RDom(0, size(d.ow), 0, size(d.oh));
        images = RDom(0, size(d.n));
        terms(l, c, n) += patches(l, r.x, r.y, n) * op.dy(r.x, r.y, clamp(c, 0, size(d.o) - 1), n);
        part(l, c) += terms(l, c, images);
        op.dweight(x, y, c, n) = part((c * side_ + y) * side_ + x, n);
    }
    void schedule(const Cpu &cpu) override {
        op.from_zero();
        const int v = cpu.lanes;
        const int taps = side_ * side_;
        const int tile = v * (taps % 3 == 0 ? 3 : 2);
        const int across = taps > 1 ? taps * v : tile;
        const int channels = cpu.pick(outs, {cpu.has_32_registers() ? 8 : 4});
        Func o = store();
        Var row, block, ki, no, ni, lo, li;
        for (int dim = 0; dim < 2; dim++) {
            o.output_buffer().dim(dim).set_extent(side_);
            o.bound(var(dim), 0, side_);
        }
        o.output_buffer().dim(1).set_stride(side_);
        o.output_buffer().dim(2).set_stride(taps);
        o.fuse(var(0), var(1), row)
            .fuse(row, var(2), row)
            .split(row, block, ki, across, Tail::GuardWithIf)
            .split(var(3), no, ni, channels, Tail::GuardWithIf);
        o.reorder(ki, ni, no, block).vectorize(ki, v).parallel(block);
        padded.compute_root().parallel(c).parallel(n).vectorize(x, v, Tail::RoundUp);
        o.specialize(o.output_buffer().dim(2).extent() % v == 0 &&
                     o.output_buffer().dim(3).extent() % channels == 0)
            .unroll(ki)
            .unroll(ni);
        patches.compute_at(o, block)
            .bound_extent(l, across)
            .split(l, lo, li, v)
            .reorder(li, x, y, n, lo)
            .vectorize(li);
        part.compute_at(o, no)
            .bound_extent(l, across)
            .bound_extent(c, channels)
            .vectorize(l, v)
            .unroll(l)
            .unroll(c);
        part.update()
            .split(l, lo, li, tile)
            .reorder(li, c, lo, images)
            .vectorize(li, v)
            .unroll(li)
            .unroll(c);
        terms.compute_at(part, lo);
        keep_in_registers(terms, {l, tile}, {c, channels}, r, v);
    }
    using Implementation::schedule;

private:
    const int side_;
    Func padded, patches{"patches"}, terms{"terms"}, part{"part"};
    Var l{"l"};
    RDom r, images;
};

// conv2d_dweight with any filters, as the product of the same matrices. A strip is as many rows of
// the output as have about strip_pixels pixels: the patches of a block of l under it are in L1
// while all output channels use them. Where the blocks are few, strips are shared out to threads in
// fixed chunks, b, whose sums are added in their order. The product is stored as a matrix, and the
// filters copied from it: only of constant sides it is known that they are its rows. The times
// beside other variants': docs/kernel_measurements.md, "Gradients of filters".
class StripsDweight : public ConvolutionVariant<Conv2dDweight> {
public:
    using ConvolutionVariant::ConvolutionVariant;
    void algorithm(const Build &build) override {
        padded = op.zero_outside(op.in_x, size(d.w), size(d.h), size(d.c));
        const Expr u = size(d.u), v = size(d.v), ow = size(d.ow), oh = size(d.oh);
        const Expr rows = clamp(strip_pixels / ow, 1, oh);
        const Expr in_image = (oh + rows - 1) / rows;
        const Expr strips = in_image * size(d.n);
        const Expr blocks = (size(d.c) * u * v + across(build.lanes) - 1) / across(build.lanes);
        const Expr chunks = clamp(most_tasks / blocks, 1, strips);
        const Expr in_chunk = (strips + chunks - 1) / chunks;
        const Expr image = clamp(s / in_image, 0, size(d.n) - 1);
        const Expr first_row = s % in_image * rows;
        const Expr channel = clamp(l / (u * v), 0, size(d.c) - 1);
        const Expr pixel = padded(op.at_x(x, l % v), op.at_y(first_row + y, l / v % u), channel,
                                  image);
        patches(l, x, y, s) = select(first_row + y < oh && s < strips, pixel, 0_r);
        r = RDom(0, ow, 0, rows);
        terms(l, c, s) += patches(l, r.x, r.y, s) * op.dy(r.x, clamp(first_row + r.y, 0, oh - 1),
                                                          clamp(c, 0, size(d.o) - 1), image);
        strip = RDom(0, in_chunk);
        part(l, c, b) += terms(l, c, b * in_chunk + strip);
        chunk = RDom(0, chunks);
        sum(l, c) += part(l, c, chunk);
        op.dweight(x, y, c, n) = sum((c * u + y) * v + x, n);
    }
    void schedule(const Cpu &cpu) override {
        op.from_zero();
        const int v = cpu.lanes;
        const int channels = cpu.pick(outs, {cpu.has_32_registers() ? 8 : 4});
        Func o = store();
        Var block, ki, no, ni, lo, li;
        o.parallel(var(3));
        o.specialize(size(d.v) % v == 0).vectorize(var(0), v);
        sum.compute_at(o, var(3)).vectorize(l, v, Tail::RoundUp);
        sum.update().reorder(l, c, chunk).vectorize(l, v, Tail::RoundUp);
        padded.compute_root().parallel(c).parallel(n).vectorize(x, v, Tail::RoundUp);
        part.compute_root().vectorize(l, v, Tail::RoundUp).parallel(c).parallel(b);
        part.update()
            .split(l, block, ki, across(v), Tail::RoundUp)
            .split(ki, lo, li, tile(v))
            .split(c, no, ni, channels, Tail::RoundUp)
            .reorder(li, ni, lo, no, strip, block, b)
            .vectorize(li, v)
            .unroll(li)
            .unroll(ni)
            .parallel(block)
            .parallel(b);
        patches.compute_at(part, strip)
            .bound_extent(l, across(v))
            .split(l, lo, li, v)
            .reorder(li, x, y, lo)
            .vectorize(li);
        terms.compute_at(part, lo);
        keep_in_registers(terms, {l, tile(v)}, {c, channels}, r, v);
    }
    using Implementation::schedule;

private:
    static constexpr int strip_pixels = 64, most_tasks = 8;
    static int tile(int lanes) { return 3 * lanes; }
    static int across(int lanes) { return 2 * tile(lanes); }
    Func padded, patches{"patches"}, terms{"terms"}, part{"part"}, sum{"sum"};
    Var l{"l"}, s{"s"}, b{"b"};
    RDom r, strip, chunk;
};

}  // namespace

Variant im2col(Conv2d &op) {
    const ConvolutionDims &d = op.d;
    return variant_of<Im2col>(op, "im2col",
                              d.group == 1 && d.stride_h == 2 && d.stride_w == 2 && d.dil_h == 1 &&
                                  d.dil_w == 1 && d.o >= outs && d.ow >= 5 &&
                                  d.oh * d.ow >= 2 * lanes && d.c >= 32 &&
                                  (d.u * d.v == 1 || d.oh * d.ow <= 100) && d.oh * d.ow <= 8192);
}

// Where rows of dy are read with stride 1, `direct` is as fast with few terms, and
// `images_in_lanes` with few filters.
Variant im2col(Conv2dDweight &op) {
    const ConvolutionDims &d = op.d;
    const DimExpr taps = d.c * d.u * d.v;
    const DimExpr has_few_images = d.n < 16 || d.oh * d.ow > 1024;
    return variant_of<StripsDweight>(op, "im2col",
                                     d.group == 1 && d.o >= outs && taps >= lanes &&
                                         (d.stride_w > 1 || (d.o >= 16 && taps >= 64)) &&
                                         (has_few_images || (d.o >= 32 && taps >= 64)));
}

Variant im2col(Conv2dDweight &op, int side) {
    const ConvolutionDims &d = op.d;
    const DimExpr fits = d.group == 1 && d.u == side && d.v == side && d.c >= lanes;
    if (side == 1) {
        return variant_of<Im2colDweight>(op, "im2col_1x1",
                                         fits && d.o >= outs && op.stride(op.weight, 2) == 1, side);
    }
    const DimExpr is_dense = op.stride(op.weight, 1) == side &&
                             op.stride(op.weight, 2) == side * side;
    if (side == 2)
        return variant_of<Im2colDweight>(op, "im2col_2x2", fits && d.o >= outs && is_dense, side);
    return variant_of<Im2colDweight>(
        op, "im2col_3x3", fits && d.o >= 32 && d.n * d.oh * d.ow <= 16 * d.o && is_dense, side);
}

}  // namespace halyard
