// The register tiles of direct convolutions: pixels or output channels in the vector.
#include "kernels/convolution/convolution.h"

namespace halyard {

// Stores are guarded and the tile itself stays whole, because what it reads is clamped. So every
// extent is right.
void Convolution::pixel_tiles(const Cpu &cpu, const Func &padded, Func sum, const RDom &r) const {
    Func o = store();
    Func zeros = padded;
    const int v = cpu.lanes;
    const bool has_avx2 = cpu.target.has_feature(Halide::Target::AVX2);
    const int channels = cpu.pick("tile_c", {cpu.has_32_registers() ? 8 : has_avx2 ? 6 : 4});
    const int rows = 2;
    Var xo, xi, yo, yi, co, ci;
    Var px = var(0), py = var(1), pc = var(2), pn = var(3);
    o.split(pc, co, ci, channels, Tail::GuardWithIf)
        .split(px, xo, xi, v, Tail::GuardWithIf)
        .split(py, yo, yi, rows, Tail::GuardWithIf);
    o.reorder(xi, yi, ci, xo, yo, co, pn).vectorize(xi).parallel(co).parallel(pn);
    zeros.compute_root().parallel(c).parallel(n).vectorize(x, v, Tail::RoundUp);
    sum.compute_at(o, xo)
        .bound_extent(x, v)
        .bound_extent(y, rows)
        .bound_extent(c, channels)
        .vectorize(x)
        .unroll(y)
        .unroll(c);
    sum.update().reorder(x, y, c, r.x, r.y, r.z).vectorize(x).unroll(y).unroll(c);
}

// With two vectors a broadcast pixel serves two products, so that loads don't bound the loop
// (docs/kernel_measurements.md, "convolution").
Convolution::ChannelTile Convolution::channel_tile(const Cpu &cpu) const {
    return {cpu.pick("vectors", {2}), cpu.pick("tile_x", {cpu.has_32_registers() ? 7 : 3})};
}

Convolution::ChannelTile Convolution::row_tile(const Cpu &cpu) const {
    return {cpu.pick("vectors", {2}), cpu.pick("tile_x", {cpu.has_32_registers() ? 12 : 6}), 1};
}

// Tiles at the edges overlap the ones before them: guarded tiles store their vectors of channels
// one by one and are slower (docs/kernel_measurements.md, "convolution").
void Convolution::channel_tiles(const Cpu &cpu, const ChannelTile &tile, const Func &padded,
                                Func filter, Func sum, const RDom &r) const {
    Func o = store();
    Func zeros = padded;
    const int v = cpu.lanes;
    const int block = v * tile.vectors;
    const int across = tile.across;
    const int down = tile.down;
    const int strip = 8;
    Var xo, xi, yo, yi, yt, co, ci;
    Var px = var(0), py = var(1), pc = var(2), pn = var(3);
    const auto tiles = [&](auto stage, Tail tail) {
        stage.split(pc, co, ci, block, tail)
            .split(px, xo, xi, across, tail)
            .split(py, yt, yi, down, tail)
            .split(yt, yo, yt, strip, Tail::GuardWithIf);
        stage.reorder(ci, xi, yi, xo, yt, yo, pn, co)
            .vectorize(ci, v)
            .parallel(co)
            .parallel(pn)
            .parallel(yo);
        return stage;
    };
    const auto extent = [&](int dim) { return o.output_buffer().dim(dim).extent(); };
    // Overlapping tiles write the same bits, which ThreadSanitizer reports as a race.
    const bool overlap = !cpu.target.has_feature(Halide::Target::TSAN);
    const Expr fits = extent(2) >= block && extent(0) >= across && extent(1) >= down;
    const Expr even = extent(2) % block == 0 && extent(0) % across == 0 && extent(1) % down == 0;
    tiles(o.specialize(overlap ? fits : even), Tail::ShiftInwards).unroll(ci).unroll(xi).unroll(yi);
    tiles(o, Tail::GuardWithIf).never_partition(xo, yt, yo, co);
    const auto p = zeros.args();
    zeros.compute_root().parallel(p[2]).parallel(p[3]).vectorize(p[0], v, Tail::RoundUp);
    filter.compute_at(o, co)
        .reorder_storage(n, x, y, c)
        .reorder(n, x, y, c)
        .bound_extent(n, block)
        .vectorize(n, v)
        .unroll(n);
    sum.compute_at(o, xo)
        .bound_extent(x, across)
        .bound_extent(y, down)
        .bound_extent(c, block)
        .reorder_storage(c, x, y, n);
    sum.reorder(c, x, y).vectorize(c, v).unroll(c).unroll(x).unroll(y);
    sum.update().reorder(c, x, y, r.x, r.y, r.z).vectorize(c, v).unroll(c).unroll(x).unroll(y);
    sum.update().specialize(size(d.v) == 1 && size(d.u) == 1);
}

}  // namespace halyard
