#include "kernels/depthwise.h"

#include "dsl/real.h"

namespace halyard {
using namespace Halide;

void Depthwise::define(const Func &image, const Func &filter, int stride, int side, const DepthwiseLine &across, const DepthwiseLine &down) {
    side_ = side;
    pixel_ = RDom(0, across.in, 0, down.in);
    map_(x, y, k, n) = 0_r;
    map_(pixel_.x + across.before, pixel_.y + down.before, k, n) = image(pixel_.x, pixel_.y, k, n);
    r_ = side ? RDom(0, side, 0, side) : RDom(0, across.taps, 0, down.taps);
    const Expr right = side ? Expr(r_.x) : r_.x * across.dilation, below = side ? Expr(r_.y) : r_.y * down.dilation;
    sum_(x, y, k, n) += filter(r_.x, r_.y, k) * map_(x * stride + right, y * stride + below, k, n);
}

void Depthwise::schedule(const Cpu &cpu, Func o) const {
    const TailStrategy guard = TailStrategy::GuardWithIf, up = TailStrategy::RoundUp;
    const int v = cpu.lanes, rows = cpu.pick("rows", {4}), task_elements = 16384;
    Func map = map_, sum = sum_;
    Var plane, task, yo, yi, xo, xi, ox = o.args()[0], oy = o.args()[1];
    const auto extent = [&](int d) { return o.output_buffer().dim(d).extent(); };
    o.split(oy, yo, yi, rows, guard).split(ox, xo, xi, v, guard).fuse(o.args()[2], o.args()[3], plane);
    o.split(plane, task, plane, max(1, task_elements / max(1, extent(0) * extent(1))), guard);
    o.reorder(xi, yi, xo, yo, plane, task).vectorize(xi).unroll(yi).parallel(task);
    map.compute_at(o, plane).vectorize(x, v, up);
    map.update().vectorize(RVar(pixel_.x), v, guard);
    sum.compute_at(o, xo).bound_extent(x, v).bound_extent(y, rows).vectorize(x).unroll(y);
    sum.update().reorder(x, y, r_.x, r_.y).vectorize(x).unroll(y);
    if (side_) sum.update().unroll(RVar(r_.x)).unroll(RVar(r_.y));
}

}  // namespace halyard
