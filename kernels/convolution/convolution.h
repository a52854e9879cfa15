// What conv2d and its gradients share: attributes, shapes, the loops of their references and the
// register tiles of their schedules.
//
// In kernels a feature map is (x, y, channel, image) and a filter (v, u, input channel of the
// group, output channel).
#pragma once
#include <cmath>

#include "dsl/op.h"

namespace halyard {

class Convolution : public Op {
public:
    // x[n,c,h,w], weight[o,c/group,u,v] and y[n,o,oh,ow] (or dy), in the order of `signature`.
    Convolution(const std::string &name, const std::string &signature);

protected:
    // What kernels copy around a map grows with these, so they get none that is larger than it has
    // to be. The stride of a single window means nothing. Where taps lie so far apart that only one
    // of them, tap_h, can meet the map, they come as near as leaves the others outside.
    Expr stride_h = derived(
        "stride_h",
        "oh>1 ? stride_h : min(stride_h,max(h+border_top+border_bottom-(u-1)*dil_h,1))");
    Expr stride_w = derived(
        "stride_w",
        "ow>1 ? stride_w : min(stride_w,max(w+border_left+border_right-(v-1)*dil_w,1))");
    Expr dil_h = derived("dil_h", "min(dil_h,near_h)"),
         dil_w = derived("dil_w", "min(dil_w,near_w)");
    Expr pad_top = derived("pad_top", "dil_h>near_h ? tap_h*near_h-row_of_tap : border_top");
    Expr pad_bottom = derived("pad_bottom",
                              "dil_h>near_h ? reach_h+(u-1)*near_h+1-h-pad_top : border_bottom");
    Expr pad_left = derived("pad_left", "dil_w>near_w ? tap_w*near_w-column_of_tap : border_left");
    Expr pad_right = derived("pad_right",
                             "dil_w>near_w ? reach_w+(v-1)*near_w+1-w-pad_left : border_right");
    Expr groups = derived("group", "group");
    Var x{"x"}, y{"y"}, c{"c"}, n{"n"};

    bool pointwise() const { return variant.starts_with("pointwise"); }
    bool deep_tiles() const { return variant.starts_with("deep"); }
    static std::string pointwise_when() {
        return "u==1 v==1 stride_h==1 stride_w==1 group==1 h==1 oh==1 ow==w w>=tile_v*lanes ";
    }
    bool by_depth() const { return variant.starts_with("depthwise"); }
    int depth_stride() const { return variant.ends_with("_2") ? 2 : 1; }
    int depth_side() const { return variant.starts_with("depthwise_3") ? 3 : 0; }
    // Of AVX-512, and of 32 bits: what a vector reads and writes beyond a row is masked. Not in
    // exact mode.
    bool masks() const { return types.count("T") && types.at("T") == DType::f32 && lanes == 16; }
    // One channel whose filters are many isn't meant: 6 of 5 x 5 on 32 images of 32 x 32 (LeNet)
    // took 2.1 times "any"'s time (1 thread, Zen 5).
    static std::string depthwise_when(int stride, int side) {
        const std::string s = std::to_string(stride);
        const std::string k = std::to_string(side);
        return "c==group (o==group||group>1) stride_h==" + s + " stride_w==" + s +
               (side ? " u==" + k + " v==" + k + " dil_h==1 dil_w==1" : "");
    }
    // the other variants take group==1 only
    bool dense() const { return variant != "any"; }
    Expr inside(const Expr &at_x, const Expr &at_y, const Expr &w, const Expr &h) const {
        return at_x >= 0 && at_x < w && at_y >= 0 && at_y < h;
    }
    // f with zeros around it, w x h x channels being its own size. A stage of its own: a test
    // inside the sum costs 2.5x.
    Func zero_outside(const Func &f, const Expr &w, const Expr &h, const Expr &channels) const;
    // The first of the channels that output channel k's group reads, when a group reads `step` and
    // writes `per_group` channels.
    Expr first_of_group(const Expr &k, const Expr &per_group, const Expr &step) const;

    // `body(n, o, oy, ox, c, iy, ix, u, v, real)` for every product of the convolution: output,
    // input channel and pixel, tap. `real` is false where the tap meets padding.
    template<class Body> void each_product(Problem &p, const Body &body) const;

    // Tensors begin at 0: with that, Halide proves that blocks of channels are contiguous. For
    // every schedule's first line.
    void from_zero() const;

    // store() = sum, one vector of pixels by rows by channels at a time; the filter's scalars are
    // broadcast as they lie.
    void pixel_tiles(const Cpu &cpu, const Func &padded, Func sum, const RDom &r) const;
    // The same with output channels in the vector: the filter is packed by blocks of channels,
    // which stay in L2 for all images.
    void channel_tiles(const Cpu &cpu, const Func &padded, Func filter, Func sum,
                       const RDom &r) const;

    // For filters of 1 x 1, a product of matrices as they lie, a map being one row of pixels.
    void pointwise_tiles(const Cpu &cpu, Func sum, const RDom &r) const;

    // What a reference says of NaN and infinity. They reach every element whose formula has them as
    // a factor; an element that is not NaN by its formula may become NaN where `touched(i, k)` says
    // that its slice [i, k, :, :] of `output` multiplies such a factor with the zeros of padding
    // or, with `tiles`, where a neighbour has one (winograd).
    static void excuse(Problem &p, const std::string &output, bool tiles,
                       const std::function<bool(int64_t, int64_t)> &touched);
    // or so large that a sum may overflow in float
    static bool special(double v) { return !(std::fabs(v) < 1e37); }
    static bool any_special(const Array &a, int64_t i, int64_t k);  // in a[i, k, :, :]
    static bool tiled(Problem &p) {
        return p["u"] == 3 && p["v"] == 3 && p["stride_h"] == 1 && p["stride_w"] == 1;
    }
};

template<class Body> void Convolution::each_product(Problem &p, const Body &body) const {
    const int64_t cg = p["c"] / p["group"];
    const int64_t og = p["o"] / p["group"];
    const int64_t h = p["h"];
    const int64_t w = p["w"];
    const int64_t U = p["u"];
    const int64_t V = p["v"];
    const int64_t outs = p["o"];
    const int64_t oh = p["oh"];
    const int64_t ow = p["ow"];
    const int64_t sh = p["stride_h"];
    const int64_t sw = p["stride_w"];
    const int64_t dh = p["dil_h"];
    const int64_t dw = p["dil_w"];
    const int64_t top = p["border_top"];
    const int64_t before = p["border_left"];
    for (int64_t i = 0; i < p["n"]; i++) {
        for (int64_t o = 0; o < outs; o++) {
            for (int64_t oy = 0; oy < oh; oy++) {
                for (int64_t ox = 0; ox < ow; ox++) {
                    for (int64_t k = 0; k < cg; k++) {
                        for (int64_t u = 0; u < U; u++) {
                            for (int64_t v = 0; v < V; v++) {
                                const int64_t iy = oy * sh + u * dh - top;
                                const int64_t ix = ox * sw + v * dw - before;
                                body(i, o, oy, ox, o / og * cg + k, iy, ix, u, v,
                                     iy >= 0 && iy < h && ix >= 0 && ix < w);
                            }
                        }
                    }
                }
            }
        }
    }
}

}  // namespace halyard
