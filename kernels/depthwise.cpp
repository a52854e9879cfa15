#include "kernels/depthwise.h"

#include "dsl/real.h"

namespace halyard {
using namespace Halide;
namespace {

constexpr TailStrategy guard = TailStrategy::GuardWithIf;

}  // namespace

void Depthwise::define(const PaddedMap &map, const Func &filter, int stride, int side, const Taps &across, const Taps &down, const Expr &width) {
    side_ = side, stride_ = stride, map_ = map;
    r_ = side ? RDom(0, side, 0, side) : RDom(0, across.extent, 0, down.extent);
    const Expr right = side ? Expr(r_.x) : r_.x * across.dilation, below = side ? Expr(r_.y) : r_.y * down.dilation;
    sum_(x, y, k, n) += filter(r_.x, r_.y, k) * map(x * stride + right, y * stride + below, k, n);
    if (!side || !map.by_rows) return;
    // What a vector reads beyond its row is the begin of the next one, for results that nobody keeps. So a row needs no room for that, and its
    // length is known when compiled.
    const int row = narrow_width_ * stride;
    const Expr from = (y * stride + below) * row + x * stride + right;
    narrow_sum_(x, y, k, n) += filter(r_.x, r_.y, k) * map(from % row, from / row, k, n);
    narrow_ = (width - 1) * stride + side <= row;
}

Expr Depthwise::at(const Expr &ax, const Expr &ay, const Expr &ak, const Expr &an) const {
    return narrow_.defined() ? select(narrow_, narrow_sum_(ax, ay, ak, an), sum_(ax, ay, ak, an)) : sum_(ax, ay, ak, an);
}

// The time of a copy of a whole map with guarded edges, map by map, over that of by_strips, one thread, AVX-512 on an AMD EPYC Zen 5, 3 x 3: 32
// channels at 112 x 112 1.19, 144 at 56 x 56 1.19, 192 at 28 x 28 1.09, 384 at 14 x 14 1.7, 960 at 7 x 7 1.5, 64 at 16 x 16 1.07, at 8 x 8 1.5;
// with stride 2 96 at 112 x 112 1.30, 192 at 28 x 28 1.22, 576 at 14 x 14 1.9. oneDNN's time in its own layouts over ours: 0.75, 0.62, 0.45,
// 0.51, 0.26 (112 to 7). By 7 rows, which divide maps of these networks, 14 x 14 takes 0.91 and 28 x 28 0.88 of that by 8, but 16 x 16 1.19.
// With AVX2 the masks cost more than they save: 384 at 14 x 14 took 3 times as long.
void Depthwise::schedule(const Cpu &cpu, Func o) const {
    if (cpu.has_avx512()) by_strips(cpu, o);
    else by_maps(cpu, o);
}

void Depthwise::by_strips(const Cpu &cpu, Func o) const {
    const int v = cpu.lanes, rows = cpu.pick("rows", {map_.by_rows && side_ ? 8 : 4, 7}), elements = 4096;  // of what is padded at a time, which L1 holds
    Var task, ci, ys, yo, yi, xo, xi, ox = o.args()[0], oy = o.args()[1], oc = o.args()[2], on = o.args()[3];
    const auto extent = [&](int d) { return o.output_buffer().dim(d).extent(); };
    const Expr bands = max(1, (extent(1) + rows - 1) / rows), band = (extent(0) + v) * rows * stride_ * stride_;
    const Expr strip = map_.by_rows ? clamp(elements / band, 1, bands) : bands, maps = max(1, elements / (band * strip));
    o.split(ox, xo, xi, v, guard).split(oy, yo, yi, rows, guard).split(yo, ys, yo, strip, guard).split(oc, task, ci, maps, guard);
    o.reorder(xi, yi, xo, yo, ci, ys, task, on).fuse(ys, task, task).fuse(task, on, task).vectorize(xi).unroll(yi).parallel(task);
    // The last vector is stored under a mask. Rows too without a case of their own compile in 0.78 of the time, but 112 x 112 takes 1.2 times.
    if (map_.by_rows) o.never_partition(xo);
    if (map_.by_rows && !side_) o.never_partition(xo, yo);
    if (narrow_.defined()) o.specialize(narrow_);
    map_.compute_at(o, task, v);
    sums(o, xo, v, rows);
}

// Small maps wait for rows that were just stored; a buffer per task instead of per map brought 0.91 of the time at 14 x 14.
void Depthwise::by_maps(const Cpu &cpu, Func o) const {
    const int v = cpu.lanes, rows = cpu.pick("rows", {4}), task_elements = 16384;
    Var plane, task, yo, yi, xo, xi, ox = o.args()[0], oy = o.args()[1];
    const auto extent = [&](int d) { return o.output_buffer().dim(d).extent(); };
    o.split(oy, yo, yi, rows, guard).split(ox, xo, xi, v, guard).fuse(o.args()[2], o.args()[3], plane);
    o.split(plane, task, plane, max(1, task_elements / max(1, extent(0) * extent(1))), guard);
    o.reorder(xi, yi, xo, yo, plane, task).vectorize(xi).unroll(yi).parallel(task);
    map_.compute_at(o, plane, v, &task);
    sums(o, xo, v, rows);
}

void Depthwise::sums(const Func &o, const Var &at, int lanes, int rows) const {
    for (Func sum : {sum_, narrow_sum_}) {
        if (!sum.defined()) continue;
        sum.compute_at(o, at).bound_extent(x, lanes).bound_extent(y, rows).vectorize(x).unroll(y);
        // With stride 2 a vector is made of two by a shuffle: row by row fewer of them wait in registers.
        if (stride_ == 1) sum.update().reorder(x, y, r_.x, r_.y);
        else sum.update().reorder(x, r_.x, r_.y, y);
        sum.update().vectorize(x).unroll(y);
        if (side_) sum.update().unroll(RVar(r_.x)).unroll(RVar(r_.y));
    }
}

void DepthwiseTaps::define(const PaddedMap &map, const PaddedMap &dy, int stride, int side, const Expr &w, const Expr &h, const Expr &images, int lanes) {
    map_ = map, dy_ = dy;
    r_ = RDom(0, (w + lanes - 1) / lanes, 0, h, 0, images), lane_ = RDom(0, lanes);
    const Expr x = r_.x * lanes + l;
    sum_(l, v, u, k) += dy(x, r_.y, k, r_.z) * map(x * stride + v, r_.y * stride + u, k, r_.z);
    total_(v, u, k) += sum_(lane_, v, u, k);
    sum_.bound(v, 0, side).bound(u, 0, side);
}

void DepthwiseTaps::schedule(const Cpu &cpu, Func o) const {
    Func sum = sum_, total = total_;
    o.parallel(o.args()[3]);
    total.compute_at(o, o.args()[3]);
    total.update().atomic().vectorize(RVar(lane_));
    sum.compute_at(o, o.args()[3]).vectorize(l, cpu.lanes).unroll(v).unroll(u);
    sum.update().reorder(l, v, u, r_.x, r_.y, r_.z).vectorize(l, cpu.lanes).unroll(v).unroll(u);
    map_.compute_at(sum, RVar(r_.z), cpu.lanes);
    dy_.compute_at(sum, RVar(r_.z), cpu.lanes);
}

}  // namespace halyard
