#include "kernels/convolution/convolution.h"

#include <algorithm>

namespace halyard {

Convolution::Convolution(const std::string &name, const std::string &signature)
    : Op(name, signature) {
    ints("stride", "1,1", {d.stride_h, d.stride_w});
    choice(d.pad_mode, {d.valid, d.same, d.pad});
    ints("padding", "0,0,0,0", {d.top, d.bottom, d.left, d.right});
    ints("dilation", "1,1", {d.dil_h, d.dil_w});
    attr(d.group, 1);
    choice(d.data_format, {d.nchw, d.nhwc});
    // "same" has ceil(h / stride) outputs. Of an odd number of padding rows the larger half is at
    // the bottom.
    let(d.same_h,
        max((ceil_div(d.h, max(d.stride_h, 1)) - 1) * d.stride_h + (d.u - 1) * d.dil_h + 1 - d.h,
            0));
    let(d.same_w,
        max((ceil_div(d.w, max(d.stride_w, 1)) - 1) * d.stride_w + (d.v - 1) * d.dil_w + 1 - d.w,
            0));
    const auto border = [&](const DimExpr &of_same, const Dim &given) {
        return select(d.pad_mode == d.same, of_same, select(d.pad_mode == d.pad, given, 0));
    };
    let(d.border_top, border(d.same_h / 2, d.top));
    let(d.border_bottom, border(d.same_h - d.same_h / 2, d.bottom));
    let(d.border_left, border(d.same_w / 2, d.left));
    let(d.border_right, border(d.same_w - d.same_w / 2, d.right));
    const auto outputs = [](const DimExpr &extent, const Dim &before, const Dim &after,
                            const Dim &kernel, const Dim &dilation, const Dim &stride) {
        return max((extent + before + after - (kernel - 1) * dilation - 1) / max(stride, 1) + 1, 0);
    };
    let(d.oh, outputs(d.h, d.border_top, d.border_bottom, d.u, d.dil_h, d.stride_h));
    let(d.ow, outputs(d.w, d.border_left, d.border_right, d.v, d.dil_w, d.stride_w));
    declare_axis({d.h, d.u, d.oh, d.stride_h, d.dil_h, d.border_top, d.reach_h, d.near_h, d.tap_h,
                  d.row_of_tap});
    declare_axis({d.w, d.v, d.ow, d.stride_w, d.dil_w, d.border_left, d.reach_w, d.near_w, d.tap_w,
                  d.column_of_tap});
    // The same extents from a kernel's scalars, by which kernels compute them.
    let(d.oh, outputs(d.h, d.pad_top, d.pad_bottom, d.u, d.dil_h, d.stride_h));
    let(d.ow, outputs(d.w, d.pad_left, d.pad_right, d.v, d.dil_w, d.stride_w));
    // Filters of 1 x 1 don't distinguish rows.
    for (const Dim &join : {d.join_h_w, d.join_oh_ow}) {
        let(join, d.u == 1 && d.v == 1 && d.stride_h == 1 && d.stride_w == 1 &&
                      d.border_top + d.border_bottom + d.border_left + d.border_right == 0);
    }
    // Pixels of a map of width 1 are contiguous as a row, which vectors fill.
    let(d.swap_h_w, d.w == 1 && d.v == 1 && d.ow == 1 && d.h > 1);
    // A group is a convolution of its own, which every variant may compute. If it has few products,
    // the calls dominate.
    let(d.c_per_group, d.c / max(d.group, 1));
    let(d.o_per_group, d.o / max(d.group, 1));
    let(d.loop_group,
        d.group > 1 && d.c > d.group &&
            min(d.n * d.oh * d.ow, 65536) * min(d.o_per_group * d.c_per_group * d.u * d.v, 65536) >=
                65536);
    declare_conditions();
    contract = {Contract::products, 8};
    declare_problems();
}

// Declares four lets of one spatial dimension. reach: the distance from the first window's row to
// the last one's. near: the dilation at which two taps never meet the map in the same window. tap:
// the last tap that begins above the map's end. position: the row of that tap in the first window,
// which is no further outside than it takes to miss the map.
void Convolution::declare_axis(const Axis &a) {
    let(a.reach, max(a.output - 1, 0) * a.stride);
    let(a.near, max(a.reach + a.extent + 1, 1));
    let(a.tap, max(min(a.kernel - 1, (a.extent - 1 + a.before) / max(a.dilation, 1)), 0));
    let(a.position, max(a.tap * a.dilation - a.before, -a.reach - 1));
}

void Convolution::declare_conditions() {
    for (const Dim &one_or_more : {d.stride_h, d.stride_w, d.dil_h, d.dil_w})
        require(one_or_more >= 1);
    for (const Dim &padding : {d.top, d.bottom, d.left, d.right})
        require(padding >= 0);
    require(d.pad_mode == d.pad || d.top + d.bottom + d.left + d.right == 0);
    for (const Dim &one_or_more : {d.group, d.h, d.w, d.c, d.o, d.u, d.v})
        require(one_or_more >= 1);
    require(d.c % d.group == 0);
    require(d.o % d.group == 0);
    require((d.u - 1) * d.dil_h + 1 <= d.h + d.border_top + d.border_bottom);
    require((d.v - 1) * d.dil_w + 1 <= d.w + d.border_left + d.border_right);
}

// The samples reach every variant on every instruction set.
void Convolution::declare_problems() {
    samples = {"n=1 c=1 h=1 w=1 o=1 u=1 v=1",
               "n=1 c=2 h=5 w=3 o=3 u=2 v=2 pad_mode=same",
               "n=3 c=5 h=7 w=13 o=11 u=3 v=3 pad_mode=pad padding=1,1,1,1",
               "n=2 c=3 h=9 w=17 o=15 u=3 v=3 stride=2,2 pad_mode=same",
               ("n=1 c=4 h=11 w=19 o=6 u=3 v=2 stride=2,1 pad_mode=pad padding=1,0,2,1 "
                "dilation=2,2 group=2"),
               "n=2 c=6 h=8 w=9 o=6 u=3 v=3 pad_mode=same group=6",
               "n=1 c=4 h=6 w=6 o=8 u=3 v=3 stride=2,2 pad_mode=same group=4",
               "n=3 c=3 h=7 w=18 o=3 u=3 v=3 pad_mode=pad padding=1,1,1,1 group=3",
               "n=2 c=5 h=9 w=35 o=5 u=3 v=3 stride=2,2 pad_mode=pad padding=1,0,2,1 group=5",
               "n=1 c=2 h=40 w=113 o=2 u=3 v=3 pad_mode=pad padding=1,1,1,1 group=2",
               "n=1 c=3 h=59 w=61 o=3 u=3 v=3 stride=2,2 pad_mode=pad padding=1,1,1,1 group=3",
               "n=1 c=2 h=10 w=17 o=2 u=5 v=4 pad_mode=pad padding=3,2,1,0 dilation=2,1 group=2",
               "n=1 c=3 h=11 w=13 o=6 u=5 v=5 stride=2,2 pad_mode=same group=3",
               "n=1 c=3 h=9 w=18 o=3 u=5 v=5 pad_mode=same group=3",
               "n=1 c=2 h=44 w=37 o=2 u=5 v=5 pad_mode=same group=2",
               "n=1 c=2 h=8 w=9 o=2 u=7 v=7 pad_mode=same group=2",
               "n=2 c=2 h=13 w=19 o=2 u=5 v=5 stride=2,2 pad_mode=same group=2",
               "n=1 c=24 h=6 w=10 o=32 u=3 v=3 pad_mode=pad padding=1,0,1,1 group=2",
               "n=2 c=32 h=8 w=16 o=64 u=1 v=1 group=2",
               "n=2 c=3 h=37 w=1 o=5 u=5 v=1 stride=2,3 pad_mode=pad padding=2,1,0,0 dilation=1,3",
               "n=1 c=33 h=9 w=11 o=6 u=3 v=3 stride=2,2 pad_mode=same",
               "n=2 c=33 h=11 w=13 o=29 u=1 v=1 stride=2,2",
               "n=1 c=32 h=12 w=11 o=13 u=3 v=3 stride=2,2 pad_mode=same",
               "n=2 c=34 h=8 w=12 o=5 u=3 v=2 stride=2,3 pad_mode=pad padding=1,0,2,1",
               "n=1 c=17 h=9 w=35 o=17 u=3 v=2 stride=3,3",
               "n=1 c=9 h=8 w=37 o=33 u=2 v=3 stride=2,3",
               "n=2 c=35 h=9 w=11 o=13 u=2 v=2 stride=2,2",
               "n=3 c=3 h=67 w=33 o=9 u=3 v=3 stride=2,2",
               "n=2 c=7 h=4 w=15 o=17 u=1 v=1",
               "n=2 c=37 h=4 w=15 o=35 u=1 v=1",
               "n=1 c=14 h=33 w=32 o=13 u=1 v=1",
               "n=1 c=3 h=5 w=16 o=31 u=1 v=3",
               "n=1 c=3 h=17 w=18 o=5 u=7 v=7 stride=2,2 pad_mode=pad padding=3,3,3,3",
               "n=32 c=1 h=32 w=32 o=6 u=5 v=5",
               "n=32 c=6 h=14 w=14 o=16 u=5 v=5",
               "n=19 c=7 h=6 w=5 o=3 u=2 v=3",
               "n=1 c=37 h=14 w=14 o=33 u=3 v=3 pad_mode=same",
               "n=2 c=32 h=9 w=23 o=32 u=3 v=3 pad_mode=same",
               "n=1 c=48 h=14 w=13 o=48 u=3 v=3 pad_mode=same",
               "n=3 c=34 h=27 w=26 o=33 u=3 v=2 pad_mode=pad padding=1,1,0,1",
               "n=1 c=2 h=5 w=35 o=9 u=2 v=3 stride=1,2",
               "n=1 c=4 h=4 w=19 o=10 u=2 v=3 group=2",
               "n=1 c=32 h=18 w=7 o=32 u=3 v=1 pad_mode=same",
               "n=2 c=48 h=3 w=3 o=32 u=1 v=1",
               "n=5 c=67 h=2 w=4 o=33 u=1 v=3",
               "n=1 c=3 h=4 w=5 o=2 u=3 v=2 stride=20000,30000",
               "n=1 c=2 h=4 w=5 o=2 u=3 v=3 pad_mode=same dilation=20000,7",
               "n=1 c=2 h=9 w=5 o=2 u=2 v=4 pad_mode=same stride=2,1 dilation=12,20000",
               "n=1 c=2 h=4 w=5 o=2 u=2 v=2 pad_mode=pad padding=2,21,3,14 dilation=22,18 group=2"};
    bench = {"n=1 c=64 h=56 w=56 o=64 u=3 v=3 pad_mode=same",
             "n=1 c=128 h=28 w=28 o=128 u=3 v=3 pad_mode=same",
             "n=1 c=256 h=14 w=14 o=256 u=3 v=3 pad_mode=same",
             "n=1 c=512 h=7 w=7 o=512 u=3 v=3 pad_mode=same",
             "n=1 c=256 h=14 w=14 o=256 u=1 v=1",
             "n=1 c=3 h=224 w=224 o=64 u=7 v=7 stride=2,2 pad_mode=same",
             "n=32 c=1 h=32 w=32 o=6 u=5 v=5",
             "n=32 c=6 h=14 w=14 o=16 u=5 v=5"};
}

Halide::Func Convolution::zero_outside(const Func &f, const Expr &w, const Expr &h,
                                       const Expr &channels) const {
    Func padded("padded");
    const Expr inside = x >= 0 && x < w && y >= 0 && y < h;
    padded(x, y, c, n) = select(
        inside, f(clamp(x, 0, w - 1), clamp(y, 0, h - 1), clamp(c, 0, channels - 1), n), 0_r);
    return padded;
}

Halide::Expr Convolution::first_of_group(const Expr &k, const Expr &per_group,
                                         const Expr &step) const {
    return select(groups == 1, 0, k / max(per_group, 1) * step);
}

void Convolution::from_zero() const {
    for (int d = 0; d < 4; d++)
        store().output_buffer().dim(d).set_min(0);
    for (Halide::ImageParam m : memory) {
        for (int d = 0; d < m.dimensions(); d++)
            m.dim(d).set_min(0);
    }
}

bool Convolution::any_special(const Array &a, int64_t i, int64_t k) {
    const int64_t plane = a.shape[2] * a.shape[3];
    const int64_t from = (i * a.shape[1] + k) * plane;
    return std::any_of(a.v.begin() + from, a.v.begin() + from + plane, special);
}

namespace {

// Returns true if `a` has a special value in the 3 x 3 elements around [i, k, y, x].
bool is_near_special(const Array &a, int64_t i, int64_t k, int64_t y, int64_t x) {
    for (int64_t row = std::max<int64_t>(0, y - 1); row <= std::min(a.shape[2] - 1, y + 1); row++) {
        const int64_t end = std::min(a.shape[3] - 1, x + 1);
        for (int64_t column = std::max<int64_t>(0, x - 1); column <= end; column++)
            if (Convolution::special(a(i, k, row, column))) return true;
    }
    return false;
}

}  // namespace

void Convolution::excuse(Problem &p, const std::string &output, bool tiles,
                         const std::function<bool(int64_t, int64_t)> &touched) {
    bool any = false;
    for (auto &[name, a] : p.tensors)
        any |= std::any_of(a.v.begin(), a.v.end(), special);
    if (!any) return;
    const Array &out = p(output);
    Array &abs_sum = p.abs_sum[output];
    for (int64_t i = 0; i < out.shape[0]; i++) {
        for (int64_t k = 0; k < out.shape[1]; k++) {
            const bool all = touched(i, k);
            for (int64_t y = 0; y < out.shape[2]; y++) {
                for (int64_t x = 0; x < out.shape[3]; x++) {
                    if (std::isnan(out(i, k, y, x)))
                        abs_sum(i, k, y, x) = 0;
                    else if (all || (tiles && is_near_special(out, i, k, y, x)))
                        abs_sum(i, k, y, x) = INFINITY;
                }
            }
        }
    }
}

Halide::Expr clamped_sum(const Halide::Expr &value, const Halide::Expr &bias,
                         const Halide::Expr &shortcut, const Halide::Expr &low,
                         const Halide::Expr &high) {
    Halide::Expr sum = value + bias;
    if (shortcut.defined()) sum += shortcut;
    sum = Halide::strict_float(sum);
    return select(sum < low, low, select(sum > high, high, sum));
}

void clamp_sums(Problem &p, int64_t channels, int64_t pixels) {
    Array &out = p("y");
    Array &magnitude = p.abs_sum["y"];
    const auto shortcut = p.tensors.find("z");
    const double low = p.real("low");
    const double high = p.real("high");
    for (size_t i = 0; i < out.v.size(); i++) {
        const double bias = p("bias").v[i / size_t(pixels) % size_t(channels)];
        const double more = shortcut == p.tensors.end() ? 0 : shortcut->second.v[i];
        const double sum = out.v[i] + bias + more;
        magnitude.v[i] += std::fabs(bias) + std::fabs(more);
        out.v[i] = sum < low ? low : sum > high ? high : sum;
        if (std::isnan(sum)) magnitude.v[i] = 0;
    }
}

}  // namespace halyard
