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
    across_ = across;
    down_ = down;
    map_ = map;
    r_ = side ? RDom(0, side, 0, side) : RDom(0, across.extent, 0, down.extent);
    if (side && map.by_rows) {
        // The results of a tile are one vector, for which a line of the map fills `stride` vectors.
        // The last lanes would need more, and read the beginning of the next line: their results
        // are discarded, and the next tile computes them.
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

// Seven rows divide the maps of MobileNet. The loop over tiles of a column is the inner one: inside
// the other, the addresses and masks of lines are hoisted and spilled. At the lower edge rows are
// computed twice, which is faster than testing them. docs/kernel_measurements.md, "Depthwise".
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
    // Loads under masks would keep the sums out of registers.
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
    const int v = cpu.lanes;
    const int rows = cpu.pick("rows", {4, 7});
    const int elements = 4096;  // padded at a time; L1 holds them
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

// With AVX2 masks cost more than they save. Small maps wait for rows that were just stored, so
// there is a buffer per task instead of per map. docs/kernel_measurements.md, "Depthwise".
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
    // With stride 2 a vector is made of two by a shuffle. Row by row, fewer of them are live.
    if (stride_ == 1)
        sum.update().reorder(x, y, r_.x, r_.y);
    else
        sum.update().reorder(x, r_.x, r_.y, y);
    sum.update().vectorize(x).unroll(y);
    const auto unroll_taps = [&](auto stage) { stage.unroll(RVar(r_.x)).unroll(RVar(r_.y)); };
    if (side_) return unroll_taps(sum.update());
    // Unrolled taps of neighbouring rows share their loads.
    for (const int side : {5, 7}) {
        unroll_taps(sum.update().specialize(across_.extent == side && down_.extent == side &&
                                            across_.dilation == 1 && down_.dilation == 1));
    }
}

void DepthwiseTaps::add_lanes(int lanes) {
    lane_ = RDom(0, lanes);
    total_(v, u, k) += sum_(lane_, v, u, k);
}

void DepthwiseTaps::define(const PaddedMap &map, const PaddedMap &dy, int stride, int side,
                           const Pixels &pixels, int lanes) {
    map_ = map;
    dy_ = dy;
    r_ = RDom(0, (pixels.w + lanes - 1) / lanes, 0, pixels.h, 0, pixels.images);
    const Expr x = r_.x * lanes + l;
    sum_(l, v, u, k) += dy(x, r_.y, k, r_.z) * map(x * stride + v, r_.y * stride + u, k, r_.z);
    sum_.bound(v, 0, side).bound(u, 0, side);
    add_lanes(lanes);
}

void DepthwiseTaps::define(const PaddedMap &map, const PaddedMap &dy, int stride,
                           const Depthwise::Taps &across, const Depthwise::Taps &down,
                           const Pixels &pixels, int lanes) {
    any_size_ = true;
    map_ = map;
    dy_ = dy;
    r_ = RDom(0, (pixels.w + lanes - 1) / lanes, 0, pixels.h);
    images_ = RDom(0, pixels.images);
    const Expr x = r_.x * lanes + l;
    terms_(l, v, u, k, n) += dy(x, r_.y, k, n) * map(x * stride + v * across.dilation,
                                                     r_.y * stride + u * down.dilation, k, n);
    sum_(l, v, u, k) += terms_(l, v, u, k, images_);
    add_lanes(lanes);
}

void DepthwiseTaps::schedule(const Cpu &cpu, Func o) const {
    Func terms = terms_;
    Func sum = sum_;
    Func total = total_;
    o.parallel(o.args()[3]);
    total.compute_at(o, o.args()[3]);
    total.update().atomic().vectorize(RVar(lane_));
    sum.compute_at(o, o.args()[3]).vectorize(l, cpu.lanes);
    if (any_size_) {
        const int across = 5;  // taps of a row that are summed at the same time
        Var vo, vi;
        sum.update().split(v, vo, vi, across, guard).reorder(l, vi, vo, u, images_);
        sum.update().vectorize(l, cpu.lanes);
        terms.compute_at(sum, vo).bound_extent(v, across).vectorize(l, cpu.lanes).unroll(v);
        terms.update().reorder(l, v, r_.x, r_.y).vectorize(l, cpu.lanes).unroll(v);
    } else {
        sum.unroll(v).unroll(u);
        sum.update().reorder(l, v, u, r_.x, r_.y, r_.z).vectorize(l, cpu.lanes).unroll(v).unroll(u);
    }
    const RVar image = any_size_ ? RVar(images_) : RVar(r_.z);
    map_.compute_at(sum, image, cpu.lanes);
    dy_.compute_at(sum, image, cpu.lanes);
}

}  // namespace halyard
