#include "kernels/convolution/depthwise.h"

#include "dsl/real.h"

namespace halyard {
using namespace Halide;
namespace {

constexpr TailStrategy guard = TailStrategy::GuardWithIf;

}  // namespace

void Depthwise::define(const PaddedMap &map, const Func &filter, int stride, int side,
                       const Taps &across, const Taps &down, int lanes) {
    side_ = side;
    stride_ = stride;
    lanes_ = lanes;
    map_ = map;
    r_ = side ? RDom(0, side, 0, side) : RDom(0, across.extent, 0, down.extent);
    if (side && map.by_rows) {
        // Results of a tile in one vector, of which a line of the map fills `stride`. The last
        // lanes would need more, and read the begin of the next line: their results are kept by
        // nobody, but computed by the next tile.
        const int line = lanes * stride;
        tile_ = (line - side) / stride + 1;
        line_(l, j, b, k, n) = map(b * (tile_ * stride) + j % stride * lanes + l, j / stride, k, n);
        const Expr from = (y * stride + r_.y) * line + x % lanes * stride + r_.x;
        tile_sum_(x, y, k, n) += filter(r_.x, r_.y, k) *
                                 line_(from % lanes, from / lanes, x / lanes, k, n);
        return;
    }
    const Expr right = side ? Expr(r_.x) : r_.x * across.dilation;
    const Expr below = side ? Expr(r_.y) : r_.y * down.dilation;
    sum_(x, y, k, n) += filter(r_.x, r_.y, k) * map(x * stride + right, y * stride + below, k, n);
}

Expr Depthwise::at(const Expr &ax, const Expr &ay, const Expr &ak, const Expr &an) const {
    return tile_ ? tile_sum_(ax / tile_ * lanes_ + ax % tile_, ay, ak, an) : sum_(ax, ay, ak, an);
}

void Depthwise::schedule(const Cpu &cpu, Func o, bool alone) const {
    if (tile_)
        by_tiles(cpu, o, alone);
    else if (cpu.has_avx512())
        by_strips(cpu, o);
    else
        by_maps(cpu, o);
}

// The time by strips over that by tiles, one thread, AVX-512 on an AMD EPYC Zen 5: 32 channels at
// 112 x 112 1.22, 144 at 56 x 56 1.37, 192 at 28 x 28 1.91, 384 at 14 x 14 1.87, 960 at 7 x 7 1.78,
// 64 at 16 x 16 1.10; with stride 2 96 at 112 x 112 1.82, 192 at 28 x 28 2.09. oneDNN's time in its
// own layouts over ours: 0.89, 0.92, 0.91, 0.93, 0.45 (112 to 7), 0.81 and 0.59. Seven rows divide
// the maps of these networks. The loop over tiles of a column is the inner one: inside the other,
// lines' addresses and masks are hoisted and spilled, 1.5 times as long at 14 x 14. Rows that are
// tested instead of computed twice at the lower edge: 1.1 to 1.15.
void Depthwise::by_tiles(const Cpu &cpu, Func o, bool alone) const {
    const int v = cpu.lanes;
    const int rows = cpu.pick("rows", {stride_ == 1 ? 7 : 4});
    const int strip = 4, elements = 8192;
    const auto extent = [&](int d) { return o.output_buffer().dim(d).extent(); };
    Var xo, task, ci, ys, yo, yi, xi;
    Var ox = o.args()[0];
    Var oy = o.args()[1];
    Var oc = o.args()[2];
    Var on = o.args()[3];
    // Loads under masks keep the sums out of registers: 144 channels at 56 x 56 1.16 times.
    const TailStrategy edge = alone ? TailStrategy::PredicateStores : TailStrategy::Predicate;
    const auto tiles = [&](auto stage, int height, TailStrategy tail) {
        stage.split(ox, xo, xi, tile_, edge)
            .split(oy, yo, yi, height, tail)
            .split(yo, ys, yo, strip, guard);
        stage.split(oc, task, ci, max(1, elements / (extent(0) * extent(1))), guard)
            .reorder(xi, yi, yo, xo, ys, ci, task, on)
            .fuse(task, on, task);
        stage.vectorize(xi).unroll(yi).parallel(task).never_partition(xo, yo, ys, ci);
    };
    tiles(o.specialize(extent(1) >= rows), rows, TailStrategy::ShiftInwards);
    tiles(o, 4, edge);
    map_.compute_masks(v);
    Func line = line_;
    Func sum = tile_sum_;
    line.compute_at(o, yo)
        .store_in(MemoryType::Stack)
        .bound_extent(l, v)
        .bound_extent(b, 1)
        .vectorize(l)
        .unroll(j);
    sum.compute_at(o, yo).bound_extent(x, v).bound_extent(y, rows).vectorize(x).unroll(y);
    sum.update()
        .reorder(x, r_.x, r_.y, y)
        .vectorize(x)
        .unroll(y)
        .unroll(RVar(r_.x))
        .unroll(RVar(r_.y));
}

void Depthwise::by_strips(const Cpu &cpu, Func o) const {
    // of what is padded at a time, which L1 holds
    const int v = cpu.lanes;
    const int rows = cpu.pick("rows", {4, 7});
    const int elements = 4096;
    Var task, ci, ys, yo, yi, xo, xi;
    Var ox = o.args()[0];
    Var oy = o.args()[1];
    Var oc = o.args()[2];
    Var on = o.args()[3];
    const auto extent = [&](int d) { return o.output_buffer().dim(d).extent(); };
    const Expr bands = max(1, (extent(1) + rows - 1) / rows);
    const Expr band = (extent(0) + v) * rows * stride_ * stride_;
    const Expr strip = map_.by_rows ? clamp(elements / band, 1, bands) : bands;
    const Expr maps = max(1, elements / (band * strip));
    o.split(ox, xo, xi, v, guard)
        .split(oy, yo, yi, rows, guard)
        .split(yo, ys, yo, strip, guard)
        .split(oc, task, ci, maps, guard);
    o.reorder(xi, yi, xo, yo, ci, ys, task, on)
        .fuse(ys, task, task)
        .fuse(task, on, task)
        .vectorize(xi)
        .unroll(yi)
        .parallel(task);
    if (map_.by_rows) o.never_partition(xo, yo);  // the last vector is stored under a mask
    map_.compute_at(o, task, v);
    sums(o, xo, v, rows);
}

// With AVX2 masks cost more than they save: 384 channels at 14 x 14 took 3 times as long by strips.
// Small maps wait for rows that were just stored; a buffer per task instead of per map brought 0.91
// of the time at 14 x 14.
void Depthwise::by_maps(const Cpu &cpu, Func o) const {
    const int v = cpu.lanes;
    const int rows = cpu.pick("rows", {4});
    const int task_elements = 16384;
    Var plane, task, yo, yi, xo, xi;
    Var ox = o.args()[0];
    Var oy = o.args()[1];
    const auto extent = [&](int d) { return o.output_buffer().dim(d).extent(); };
    o.split(oy, yo, yi, rows, guard)
        .split(ox, xo, xi, v, guard)
        .fuse(o.args()[2], o.args()[3], plane);
    o.split(plane, task, plane, max(1, task_elements / max(1, extent(0) * extent(1))), guard);
    o.reorder(xi, yi, xo, yo, plane, task).vectorize(xi).unroll(yi).parallel(task);
    map_.compute_at(o, plane, v, &task);
    sums(o, xo, v, rows);
}

void Depthwise::sums(const Func &o, const Var &at, int lanes, int rows) const {
    Func sum = sum_;
    sum.compute_at(o, at).bound_extent(x, lanes).bound_extent(y, rows).vectorize(x).unroll(y);
    // With stride 2 a vector is made of two by a shuffle: row by row fewer of them wait in
    // registers.
    if (stride_ == 1)
        sum.update().reorder(x, y, r_.x, r_.y);
    else
        sum.update().reorder(x, r_.x, r_.y, y);
    sum.update().vectorize(x).unroll(y);
    if (side_) sum.update().unroll(RVar(r_.x)).unroll(RVar(r_.y));
}

void DepthwiseTaps::define(const PaddedMap &map, const PaddedMap &dy, int stride, int side,
                           const Expr &w, const Expr &h, const Expr &images, int lanes) {
    map_ = map;
    dy_ = dy;
    r_ = RDom(0, (w + lanes - 1) / lanes, 0, h, 0, images);
    lane_ = RDom(0, lanes);
    const Expr x = r_.x * lanes + l;
    sum_(l, v, u, k) += dy(x, r_.y, k, r_.z) * map(x * stride + v, r_.y * stride + u, k, r_.z);
    total_(v, u, k) += sum_(lane_, v, u, k);
    sum_.bound(v, 0, side).bound(u, 0, side);
}

void DepthwiseTaps::schedule(const Cpu &cpu, Func o) const {
    Func sum = sum_;
    Func total = total_;
    o.parallel(o.args()[3]);
    total.compute_at(o, o.args()[3]);
    total.update().atomic().vectorize(RVar(lane_));
    sum.compute_at(o, o.args()[3]).vectorize(l, cpu.lanes).unroll(v).unroll(u);
    sum.update().reorder(l, v, u, r_.x, r_.y, r_.z).vectorize(l, cpu.lanes).unroll(v).unroll(u);
    map_.compute_at(sum, RVar(r_.z), cpu.lanes);
    dy_.compute_at(sum, RVar(r_.z), cpu.lanes);
}

}  // namespace halyard
