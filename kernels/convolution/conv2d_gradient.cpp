// The gradients of conv2d. Each gathers what belongs to one element of its result: there are no
// atomics, and the bits are the same for any number of threads.
#include "dsl/ascend/convolution/convolution.h"
#include "dsl/ascend/schedule.h"
#include "kernels/convolution/conv2d.h"

namespace halyard {

Conv2dDx::Conv2dDx()
    : Convolution("conv2d_dx", "x[n,c,h,w] weight[o,c/group,u,v] dy[n,o,oh,ow] -> dx[n,c,h,w]") {
    internal = true;
    add(winograd_small_maps(*this, 7));
    add(winograd_small_maps(*this, 8));
    add(winograd(*this));
    add(pointwise_wide(*this));
    add(pointwise(*this));
    add(direct_packed_row(*this));
    add(direct_packed(*this));
    add(images_in_lanes(*this));
    add(col2im(*this));
    add(polyphase(*this));
    add(depthwise(*this, 3, 1));
    add(depthwise(*this, 3, 2));
    add(depthwise(*this, 0, 1));
    add(depthwise(*this, 0, 2));
    add(direct(*this));
    add_for_gpu(thread_tiles(*this));
    add_for_gpu(thread_sums(*this));
}

Halide::Func Conv2dDx::dilated_dy() const {
    const Expr from_x = x / stride_w;
    const Expr from_y = y / stride_h;  // rounded down: below 0 stays below 0
    const Expr ow = size(d.ow), oh = size(d.oh);
    const Expr hit = from_x >= 0 && from_x < ow && from_y >= 0 && from_y < oh &&
                     x % stride_w == 0 && y % stride_h == 0;
    Func padded("padded");
    padded(x, y, c, n) = select(
        hit, dy(clamp(from_x, 0, ow - 1), clamp(from_y, 0, oh - 1), clamp(c, 0, size(d.o) - 1), n),
        0_r);
    return padded;
}

void Conv2dDx::schedule(const Ascend &npu) {
    ascend::convolve(npu, *this, ascend::Gradient::image);
}

void Conv2dDx::reference(Problem &p) const {
    const Array &g = p("dy"), &k = p("weight");
    Array &out = p("dx");
    Array &size = p.abs_sum["dx"] = Array(out.shape);
    const int64_t per_group = p["c"] / p["group"];
    each_product(p, [&](int64_t i, int64_t o, int64_t oy, int64_t ox, int64_t ch, int64_t iy,
                        int64_t ix, int64_t u, int64_t v, bool inside) {
        if (!inside) return;
        const double term = k(o, ch % per_group, u, v) * g(i, o, oy, ox);
        out(i, ch, iy, ix) += term;
        size(i, ch, iy, ix) += std::fabs(term);
    });
    excuse(p, "dx", tiled(p), [&](int64_t, int64_t ch) {
        bool any = false;
        const int64_t outs = p["o"] / p["group"];
        const int64_t first = ch / per_group * outs;
        for (int64_t o = first; o < first + outs; o++)
            any |= any_special(k, o, ch % per_group);
        return any;
    });
}

Conv2dDweight::Conv2dDweight()
    : Convolution("conv2d_dweight",
                  "x[n,c,h,w] weight[o,c/group,u,v] dy[n,o,oh,ow] -> dweight[o,c/group,u,v]") {
    internal = true;
    require(d.n >= 1);
    add(winograd(*this));
    add(im2col(*this, 3));
    add(im2col(*this, 2));
    add(im2col(*this, 1));
    add(taps_in_lanes(*this));
    add(channels_in_lanes(*this));
    add(im2col(*this));
    add(images_in_lanes(*this));
    add(depthwise(*this, 3, 1));
    add(depthwise(*this, 3, 2));
    add(depthwise(*this, 0, 1));
    add(depthwise(*this, 0, 2));
    add(direct(*this));
    add_for_gpu(thread_tiles(*this));
    add_for_gpu(thread_sums(*this));
}

void Conv2dDweight::schedule(const Ascend &npu) {
    ascend::convolve(npu, *this, ascend::Gradient::filters);
}

void Conv2dDweight::reference(Problem &p) const {
    const Array &in = p("x"), &g = p("dy");
    Array &out = p("dweight");
    Array &size = p.abs_sum["dweight"] = Array(out.shape);
    const int64_t per_group = p["c"] / p["group"];
    each_product(p, [&](int64_t i, int64_t o, int64_t oy, int64_t ox, int64_t ch, int64_t iy,
                        int64_t ix, int64_t u, int64_t v, bool inside) {
        if (!inside) return;
        const double term = g(i, o, oy, ox) * in(i, ch, iy, ix);
        out(o, ch % per_group, u, v) += term;
        size(o, ch % per_group, u, v) += std::fabs(term);
    });
    excuse(p, "dweight", false, [&](int64_t o, int64_t ch) {
        bool any = false;
        for (int64_t i = 0; i < p["n"]; i++) {
            any |= any_special(g, i, o) ||
                   any_special(in, i, o / (p["o"] / p["group"]) * per_group + ch);
        }
        return any;
    });
}

}  // namespace halyard
