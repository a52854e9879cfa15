#include "kernels/convolution/convolution.h"

#include <algorithm>

namespace halyard {

Convolution::Convolution(const std::string &name, const std::string &signature)
    : Op(name, signature) {
    ints("stride", "1,1", {"stride_h", "stride_w"});
    choice("pad_mode", {"valid", "same", "pad"});
    ints("padding", "0,0,0,0", {"top", "bottom", "left", "right"});
    ints("dilation", "1,1", {"dil_h", "dil_w"});
    attr("group", 1);
    choice("data_format", {"NCHW", "NHWC"});
    // "same": ceil(h/stride) outputs; of an odd number of padding rows the larger half lies at the
    // bottom.
    let("same_h", "max((cdiv(h,max(stride_h,1))-1)*stride_h+(u-1)*dil_h+1-h,0)");
    let("same_w", "max((cdiv(w,max(stride_w,1))-1)*stride_w+(v-1)*dil_w+1-w,0)");
    let("border_top", "pad_mode==same ? same_h/2 : pad_mode==pad ? top : 0");
    let("border_bottom", "pad_mode==same ? same_h-same_h/2 : pad_mode==pad ? bottom : 0");
    let("border_left", "pad_mode==same ? same_w/2 : pad_mode==pad ? left : 0");
    let("border_right", "pad_mode==same ? same_w-same_w/2 : pad_mode==pad ? right : 0");
    let("oh", "max((h+border_top+border_bottom-(u-1)*dil_h-1)/max(stride_h,1)+1,0)");
    let("ow", "max((w+border_left+border_right-(v-1)*dil_w-1)/max(stride_w,1)+1,0)");
    // From the first window's row to the last one's; the pitch at which two taps never meet the map
    // in the same window; the last tap that begins above the map's end, and the row of it in the
    // first window, which is no further outside than it takes to miss the map.
    for (const std::string d : {"h", "w"}) {
        const std::string before = d == "h" ? "border_top" : "border_left";
        const std::string taps = d == "h" ? "u" : "v";
        const std::string at = d == "h" ? "row_of_tap" : "column_of_tap";
        let("reach_" + d, "max(o" + d + "-1,0)*stride_" + d);
        let("near_" + d, "max(reach_" + d + "+" + d + "+1,1)");
        let("tap_" + d,
            "max(min(" + taps + "-1,(" + d + "-1+" + before + ")/max(dil_" + d + ",1)),0)");
        let(at, "max(tap_" + d + "*dil_" + d + "-" + before + ",-reach_" + d + "-1)");
    }
    // The same extents of what kernels get: by these they know them.
    let("oh", "max((h+pad_top+pad_bottom-(u-1)*dil_h-1)/max(stride_h,1)+1,0)");
    let("ow", "max((w+pad_left+pad_right-(v-1)*dil_w-1)/max(stride_w,1)+1,0)");
    // Filters of 1 x 1 know nothing of rows.
    for (const char *join : {"join_h_w", "join_oh_ow"}) {
        let(join, "u==1&&v==1&&stride_h==1&&stride_w==1&&border_top+border_bottom+border_left+"
                  "border_right==0");
    }
    conditions = {"stride_h>=1",
                  "stride_w>=1",
                  "dil_h>=1",
                  "dil_w>=1",
                  "top>=0",
                  "bottom>=0",
                  "left>=0",
                  "right>=0",
                  "pad_mode==pad||top+bottom+left+right==0",
                  "group>=1",
                  "h>=1",
                  "w>=1",
                  "c>=1",
                  "o>=1",
                  "u>=1",
                  "v>=1",
                  "c%group==0",
                  "o%group==0",
                  "(u-1)*dil_h+1<=h+border_top+border_bottom",
                  "(v-1)*dil_w+1<=w+border_left+border_right"};
    contract = {Contract::products, 8};
    samples = {"n=1 c=1 h=1 w=1 o=1 u=1 v=1",
               "n=1 c=2 h=5 w=3 o=3 u=2 v=2 pad_mode=same",
               "n=3 c=5 h=7 w=13 o=11 u=3 v=3 pad_mode=pad padding=1,1,1,1",
               "n=2 c=3 h=9 w=17 o=15 u=3 v=3 stride=2,2 pad_mode=same",
               "n=1 c=4 h=11 w=19 o=6 u=3 v=2 stride=2,1 pad_mode=pad padding=1,0,2,1 dilation=2,2 "
               "group=2",
               "n=2 c=6 h=8 w=9 o=6 u=3 v=3 pad_mode=same group=6",
               "n=1 c=4 h=6 w=6 o=8 u=3 v=3 stride=2,2 pad_mode=same group=4",
               "n=3 c=3 h=7 w=18 o=3 u=3 v=3 pad_mode=pad padding=1,1,1,1 group=3",
               "n=2 c=5 h=9 w=35 o=5 u=3 v=3 stride=2,2 pad_mode=pad padding=1,0,2,1 group=5",
               "n=1 c=2 h=40 w=113 o=2 u=3 v=3 pad_mode=pad padding=1,1,1,1 group=2",
               "n=1 c=3 h=59 w=61 o=3 u=3 v=3 stride=2,2 pad_mode=pad padding=1,1,1,1 group=3",
               "n=1 c=2 h=10 w=17 o=2 u=5 v=4 pad_mode=pad padding=3,2,1,0 dilation=2,1 group=2",
               "n=1 c=3 h=11 w=13 o=6 u=5 v=5 stride=2,2 pad_mode=same group=3",
               "n=1 c=33 h=9 w=11 o=6 u=3 v=3 stride=2,2 pad_mode=same",
               "n=2 c=33 h=11 w=13 o=29 u=1 v=1 stride=2,2",
               "n=1 c=32 h=12 w=11 o=13 u=3 v=3 stride=2,2 pad_mode=same",
               "n=2 c=34 h=8 w=12 o=5 u=3 v=2 stride=2,3 pad_mode=pad padding=1,0,2,1",
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
    padded(x, y, c, n) = select(
        inside(x, y, w, h), f(clamp(x, 0, w - 1), clamp(y, 0, h - 1), clamp(c, 0, channels - 1), n),
        0_r);
    return padded;
}

Halide::Expr Convolution::first_of_group(const Expr &k, const Expr &per_group,
                                         const Expr &step) const {
    if (dense()) return 0;
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

// Stores are guarded and the tile itself stays whole (what it reads is clamped), so every extent is
// right.
void Convolution::pixel_tiles(const Cpu &cpu, const Func &padded, Func sum, const RDom &r) const {
    Func o = store();
    Func zeros = padded;
    const int v = cpu.lanes;
    const int channels = cpu.pick("tile_c", {cpu.has_avx512()                               ? 8
                                             : cpu.target.has_feature(Halide::Target::AVX2) ? 6
                                                                                            : 4});
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

// One thread, AVX-512 on an AMD EPYC Zen 5: 128 to 159 channels, 2 x 2, at 24 x 16 0.35 ms; with
// guarded edges, whose vectors of channels are stored one by one, 0.50.
void Convolution::channel_tiles(const Cpu &cpu, const Func &padded, Func filter, Func sum,
                                const RDom &r) const {
    Func o = store();
    Func zeros = padded;
    const int v = cpu.lanes;
    const int block = v * cpu.pick("vectors", {cpu.has_avx512() && variant != "narrow" ? 2 : 1});
    const int across = cpu.pick("tile_x", {variant != "narrow" ? 7 : cpu.has_avx512() ? 10 : 5});
    const int down = 2, strip = 8;
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
    const auto extent = [&](int d) { return o.output_buffer().dim(d).extent(); };
    // of tiles, which write the same bits
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
    sum.update().specialize(size("v") == 1 && size("u") == 1);
}

// oneDNN's time over ours, one thread, AVX-512 on an AMD EPYC Zen 5, its own layouts (row-major
// ones): 64 to 256 channels at 56 x 56 0.98 (1.18), 512 to 128 at 28 x 28 0.91 (1.03), 1024 to 256
// at 14 x 14 0.84 (0.94), where tiles cover 224 pixels for 196, and 512 to 2048 at 7 x 7, 64 for
// 49, 0.77 (0.96).
void Convolution::pointwise_tiles(const Cpu &cpu, Func sum, const RDom &r) const {
    Func o = store();
    const bool three = variant == "pointwise_3";
    const int across = cpu.lanes * cpu.pick("tile_v", {three ? 3 : 2});
    const int outs = cpu.pick("outs", {!cpu.has_avx512() ? 4 : three ? 8 : 12});
    Var xo, xi, co, ci;
    Var px = var(0), py = var(1), pc = var(2), pn = var(3);
    o.split(px, xo, xi, across, Tail::ShiftInwards)
        .split(pc, co, ci, outs, Tail::ShiftInwards)
        .reorder(xi, ci, xo, co, py, pn);
    o.vectorize(xi, cpu.lanes).unroll(xi).unroll(ci);
    // The last block of channels overlaps the one before it, another task's: both write the same
    // bits there, which ThreadSanitizer can't know.
    if (!cpu.target.has_feature(Halide::Target::TSAN)) o.parallel(co);
    o.parallel(pn);
    sum.compute_at(o, xo)
        .bound_extent(x, across)
        .bound_extent(c, outs)
        .vectorize(x, cpu.lanes)
        .unroll(x)
        .unroll(c);
    sum.update().reorder(x, c, r.x).vectorize(x, cpu.lanes).unroll(x).unroll(c);
}

bool Convolution::any_special(const Array &a, int64_t i, int64_t k) {
    const int64_t plane = a.shape[2] * a.shape[3];
    const int64_t from = (i * a.shape[1] + k) * plane;
    return std::any_of(a.v.begin() + from, a.v.begin() + from + plane, special);
}

void Convolution::excuse(Problem &p, const std::string &output, bool tiles,
                         const std::function<bool(int64_t, int64_t)> &touched) {
    bool any = false;
    for (auto &[name, a] : p.tensors)
        any |= std::any_of(a.v.begin(), a.v.end(), special);
    if (!any) return;
    const Array &out = p(output);
    Array &size = p.abs_sum[output];
    const int64_t h = out.shape[2];
    const int64_t w = out.shape[3];
    for (int64_t i = 0; i < out.shape[0]; i++) {
        for (int64_t k = 0; k < out.shape[1]; k++) {
            const bool all = touched(i, k);
            for (int64_t y = 0; y < h; y++) {
                for (int64_t x = 0; x < w; x++) {
                    bool near = all;
                    for (int64_t b = std::max<int64_t>(0, y - 1);
                         tiles && b <= std::min(h - 1, y + 1); b++) {
                        for (int64_t a = std::max<int64_t>(0, x - 1); a <= std::min(w - 1, x + 1);
                             a++)
                            near |= special(out(i, k, b, a));
                    }
                    if (std::isnan(out(i, k, y, x)))
                        size(i, k, y, x) = 0;
                    else if (near)
                        size(i, k, y, x) = INFINITY;
                }
            }
        }
    }
}

}  // namespace halyard
