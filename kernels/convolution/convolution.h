// What conv2d and its gradients share: dimensions, attributes, shapes, the loops of their
// references and the schedules of their register tiles.
//
// In kernels a feature map is (x, y, channel, image) and a filter (v, u, input channel of the
// group, output channel).
#pragma once
#include <cmath>

#include "dsl/op.h"

namespace halyard {

// The names in lets and conditions: dimensions, integer attributes, values of choices, lets and
// scalars.
struct ConvolutionDims {
    // x[n,c,h,w], weight[o,c/group,u,v], y[n,o,oh,ow]
    Dim n{"n"}, c{"c"}, h{"h"}, w{"w"}, o{"o"}, u{"u"}, v{"v"}, oh{"oh"}, ow{"ow"};
    Dim stride_h{"stride_h"}, stride_w{"stride_w"}, dil_h{"dil_h"}, dil_w{"dil_w"};
    Dim group{"group"};
    Dim pad_mode{"pad_mode"}, valid{"valid"}, same{"same"}, pad{"pad"};
    Dim data_format{"data_format"}, nchw{"NCHW"}, nhwc{"NHWC"};
    // the attribute `padding`
    Dim top{"top"}, bottom{"bottom"}, left{"left"}, right{"right"};
    // the rows and columns that "same" adds
    Dim same_h{"same_h"}, same_w{"same_w"};
    // padding of the call, and of the kernel, which leaves out taps that never meet the map
    Dim border_top{"border_top"}, border_bottom{"border_bottom"};
    Dim border_left{"border_left"}, border_right{"border_right"};
    Dim pad_top{"pad_top"}, pad_bottom{"pad_bottom"}, pad_left{"pad_left"}, pad_right{"pad_right"};
    // Convolution::declare_axis() has the meaning of these.
    Dim reach_h{"reach_h"}, near_h{"near_h"}, tap_h{"tap_h"}, row_of_tap{"row_of_tap"};
    Dim reach_w{"reach_w"}, near_w{"near_w"}, tap_w{"tap_w"}, column_of_tap{"column_of_tap"};
    // true if a map's rows may be read as one row
    Dim join_h_w{"join_h_w"}, join_oh_ow{"join_oh_ow"};
    // true if columns are taken for rows, and if kernels are called group by group
    Dim swap_h_w{"swap_h_w"}, loop_group{"loop_group"};
    // channels of a group
    Dim c_per_group{"c_per_group"}, o_per_group{"o_per_group"};
};

class Convolution : public Op {
public:
    // x[n,c,h,w], weight[o,c/group,u,v] and y[n,o,oh,ow] (or dy), in the order of `signature`.
    Convolution(const std::string &name, const std::string &signature);

    static inline const ConvolutionDims d;

    // The scalars of kernels. Kernels copy what surrounds a map, and the copy grows with stride,
    // dilation and padding, so these are no larger than they need to be. The stride of a single
    // window has no effect. If taps are so far from each other that only one of them, tap_h, can
    // meet the map, the dilation is the least that keeps the others outside.
    Expr stride_h = derived(
        d.stride_h,
        select(
            d.oh > 1, d.stride_h,
            min(d.stride_h, max(d.h + d.border_top + d.border_bottom - (d.u - 1) * d.dil_h, 1))));
    Expr stride_w = derived(
        d.stride_w,
        select(
            d.ow > 1, d.stride_w,
            min(d.stride_w, max(d.w + d.border_left + d.border_right - (d.v - 1) * d.dil_w, 1))));
    Expr dil_h = derived(d.dil_h, min(d.dil_h, d.near_h));
    Expr dil_w = derived(d.dil_w, min(d.dil_w, d.near_w));
    Expr pad_top = derived(
        d.pad_top, select(d.dil_h > d.near_h, d.tap_h *d.near_h - d.row_of_tap, d.border_top));
    Expr pad_bottom = derived(d.pad_bottom,
                              select(d.dil_h > d.near_h,
                                     d.reach_h + (d.u - 1) * d.near_h + 1 - d.h - d.pad_top,
                                     d.border_bottom));
    Expr pad_left = derived(
        d.pad_left, select(d.dil_w > d.near_w, d.tap_w *d.near_w - d.column_of_tap, d.border_left));
    Expr pad_right = derived(d.pad_right,
                             select(d.dil_w > d.near_w,
                                    d.reach_w + (d.v - 1) * d.near_w + 1 - d.w - d.pad_left,
                                    d.border_right));
    Expr groups = derived(d.group, d.group);
    Var x{"x"}, y{"y"}, c{"c"}, n{"n"};

    // Returns f with zeros around it; w, h and channels are its own extents. It is a stage of its
    // own, because a test inside the sum is slow.
    Func zero_outside(const Func &f, const Expr &w, const Expr &h, const Expr &channels) const;
    // Returns the first channel that the group of output channel k reads, when a group reads `step`
    // and writes `per_group` channels.
    Expr first_of_group(const Expr &k, const Expr &per_group, const Expr &step) const;

    // Declares that every tensor begins at 0, by which Halide proves that blocks of channels are
    // contiguous. Every schedule calls it first.
    void from_zero() const;

    // Schedules store() = sum, over r, of products of `padded` and a filter, in register tiles of
    // one vector of pixels by rows by channels. The filter's scalars are broadcast as stored.
    void pixel_tiles(const Cpu &cpu, const Func &padded, Func sum, const RDom &r) const;

    // Vectors of output channels, pixels of a row, and rows in a register tile of channel_tiles().
    struct ChannelTile {
        int vectors, across, down = 2;
    };
    ChannelTile channel_tile(const Cpu &cpu) const;
    // For maps of one row.
    ChannelTile row_tile(const Cpu &cpu) const;
    // Schedules the same with output channels in the vector. The filter is packed by blocks of
    // channels, which stay in L2 for all images.
    void channel_tiles(const Cpu &cpu, const ChannelTile &tile, const Func &padded, Func filter,
                       Func sum, const RDom &r) const;

    // Calls `body(n, o, oy, ox, c, iy, ix, u, v, inside)` for every product of the convolution:
    // output, input channel and pixel, tap. `inside` is false where the tap meets padding.
    template<class Body> void each_product(Problem &p, const Body &body) const;

    // Sets the magnitudes of a reference's elements that NaN and infinity reach. They reach every
    // element whose formula has them as a factor. An element that is not NaN by its formula may
    // become NaN if `touched(i, k)` is true, because its slice [i, k, :, :] of `output` multiplies
    // such a factor with the zeros of padding, or, with `tiles`, if a neighbour has one (winograd).
    static void excuse(Problem &p, const std::string &output, bool tiles,
                       const std::function<bool(int64_t, int64_t)> &touched);
    // Returns true for NaN, infinity, and values so large that a sum may overflow in float.
    static bool special(double v) { return !(std::fabs(v) < 1e37); }
    static bool any_special(const Array &a, int64_t i, int64_t k);  // in a[i, k, :, :]
    // Returns true if winograd may compute the problem.
    static bool tiled(Problem &p) {
        return p["u"] == 3 && p["v"] == 3 && p["stride_h"] == 1 && p["stride_w"] == 1;
    }

private:
    struct Axis {
        Dim extent, kernel, output, stride, dilation, before, reach, near, tap, position;
    };
    void declare_axis(const Axis &a);
    void declare_conditions();
    void declare_problems();
};

// The epilogue of convolutions with a bias, perhaps a shortcut (undefined if there is none), and an
// activation that clamps its argument: the sum of the three, held to low and high; NaN stays. It is
// strict, so that all kernels round alike.
Halide::Expr clamped_sum(const Halide::Expr &value, const Halide::Expr &bias,
                         const Halide::Expr &shortcut, const Halide::Expr &low,
                         const Halide::Expr &high);
// The same for the reference's output y[.., channels, pixels], and for its magnitudes. `z` of the
// problem is the shortcut, if there is one.
void clamp_sums(Problem &p, int64_t channels, int64_t pixels);

// A variant of a convolution or of one of its gradients, O.
template<class O> class ConvolutionVariant : public Implementation {
public:
    explicit ConvolutionVariant(O &o) : Implementation(o), op(o) {}

protected:
    O &op;
    static inline const ConvolutionDims &d = Convolution::d;
    const Expr stride_h = op.stride_h, stride_w = op.stride_w;
    const Expr dil_h = op.dil_h, dil_w = op.dil_w;
    const Expr pad_top = op.pad_top, pad_left = op.pad_left;
    Var x{"x"}, y{"y"}, c{"c"}, n{"n"};
};

template<class Body> void Convolution::each_product(Problem &p, const Body &body) const {
    const int64_t group_inputs = p["c"] / p["group"];
    const int64_t group_outputs = p["o"] / p["group"];
    // The products of output (i, o, oy, ox). The numbers are looked up once: the loops below take
    // most of a check's time.
    const auto each_tap = [&, h = p["h"], w = p["w"], kernel_h = p["u"], kernel_w = p["v"],
                           dil_h = p["dil_h"], dil_w = p["dil_w"], stride_h = p["stride_h"],
                           stride_w = p["stride_w"], border_top = p["border_top"],
                           border_left = p["border_left"]](int64_t i, int64_t o, int64_t oy,
                                                           int64_t ox) {
        const int64_t top = oy * stride_h - border_top;
        const int64_t left = ox * stride_w - border_left;
        const int64_t first = o / group_outputs * group_inputs;
        for (int64_t k = first; k < first + group_inputs; k++) {
            for (int64_t u = 0; u < kernel_h; u++) {
                for (int64_t v = 0; v < kernel_w; v++) {
                    const int64_t iy = top + u * dil_h;
                    const int64_t ix = left + v * dil_w;
                    const bool inside = iy >= 0 && iy < h && ix >= 0 && ix < w;
                    body(i, o, oy, ox, k, iy, ix, u, v, inside);
                }
            }
        }
    };
    const int64_t images = p["n"];
    const int64_t outputs = p["o"];
    const int64_t output_h = p["oh"];
    const int64_t output_w = p["ow"];
    for (int64_t i = 0; i < images; i++) {
        for (int64_t o = 0; o < outputs; o++) {
            for (int64_t oy = 0; oy < output_h; oy++) {
                for (int64_t ox = 0; ox < output_w; ox++)
                    each_tap(i, o, oy, ox);
            }
        }
    }
}

}  // namespace halyard
