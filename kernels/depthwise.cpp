#include "kernels/depthwise.h"

#include "dsl/real.h"

namespace halyard {
using namespace Halide;
namespace {

constexpr TailStrategy guard = TailStrategy::GuardWithIf;

}  // namespace

void Depthwise::define(const PaddedMap &map, const Func &filter, int stride, int side, const Taps &across, const Taps &down) {
    side_ = side, map_ = map;
    r_ = side ? RDom(0, side, 0, side) : RDom(0, across.extent, 0, down.extent);
    const Expr right = side ? Expr(r_.x) : r_.x * across.dilation, below = side ? Expr(r_.y) : r_.y * down.dilation;
    sum_(x, y, k, n) += filter(r_.x, r_.y, k) * map(x * stride + right, y * stride + below, k, n);
}

// oneDNN's time over ours, one thread, AVX-512 on an AMD EPYC Zen 5, its own layouts (row-major ones), 3 x 3: 32 channels at 112 x 112
// 0.62 (1.46), 144 at 56 x 56 0.49 (1.15), 384 at 14 x 14 0.27 (0.77); 96 at 112 x 112 with stride 2 0.34 (0.94). Small maps wait
// for rows that were just stored; a buffer per task instead of per map brought 0.91 of the time at 14 x 14. With taps in a loop 32 at 112 x 112 takes 118 us instead of 74.
void Depthwise::schedule(const Cpu &cpu, Func o) const {
    const int v = cpu.lanes, rows = cpu.pick("rows", {4}), task_elements = 16384;
    Func sum = sum_;
    Var plane, task, yo, yi, xo, xi, ox = o.args()[0], oy = o.args()[1];
    const auto extent = [&](int d) { return o.output_buffer().dim(d).extent(); };
    o.split(oy, yo, yi, rows, guard).split(ox, xo, xi, v, guard).fuse(o.args()[2], o.args()[3], plane);
    o.split(plane, task, plane, max(1, task_elements / max(1, extent(0) * extent(1))), guard);
    o.reorder(xi, yi, xo, yo, plane, task).vectorize(xi).unroll(yi).parallel(task);
    map_.compute_at(o, plane, v, &task);
    sum.compute_at(o, xo).bound_extent(x, v).bound_extent(y, rows).vectorize(x).unroll(y);
    sum.update().reorder(x, y, r_.x, r_.y).vectorize(x).unroll(y);
    if (side_) sum.update().unroll(RVar(r_.x)).unroll(RVar(r_.y));
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
