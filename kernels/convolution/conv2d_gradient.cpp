// The gradients of conv2d, each gathered per element of its result: no atomics, the same bits for
// any number of threads.
#include "dsl/ascend/convolution/convolution.h"
#include "dsl/ascend/schedule.h"
#include "kernels/convolution/convolution.h"
#include "kernels/convolution/depthwise.h"
#include "kernels/convolution/winograd.h"

namespace halyard {
namespace {

// dx: every output that saw a pixel sends its share back. A convolution with stride 1 of dy, which
// has zeros around it and, for a stride above 1, between its elements.
struct Conv2dDx : Convolution {
    Conv2dDx()
        : Convolution("conv2d_dx",
                      "x[n,c,h,w] weight[o,c/group,u,v] dy[n,o,oh,ow] -> dx[n,c,h,w]") {
        internal = true;
        const std::string plain = "group==1 stride_h==1 stride_w==1 ";
        const std::string deep_ones = plain + "u==3 v==3 dil_h==1 dil_w==1 o%lanes==0 c>=32 w>=4 "
                                              "h>=4 (n*h*w<=1600||w<8) weight_s1==3 weight_s2==9";
        variants = {{"deep_7", deep_ones + " n*cdiv(w,2)*cdiv(h,2)%tiles==0"},
                    {"deep", deep_ones},
                    {"winograd", plain + "u==3 v==3 dil_h==1 dil_w==1 o>=16 c>=32 w>=8 h>=8"},
                    {"pointwise_3", pointwise_when() + "c>=outs w>=1024"},
                    {"pointwise", pointwise_when() + "c>=outs"},
                    {"packed", plain + "c>=32 w>=7"},
                    {"lanes", plain + "n>=16 c<16 w<32"},
                    {"phases", "group==1 dil_h==1 dil_w==1 stride_h*stride_w>1 c>=32 w>=8"},
                    {"depthwise_3", depthwise_when(1, 3) + " o==group"},
                    {"depthwise_3_2", depthwise_when(2, 3) + " o==group"},
                    {"depthwise", depthwise_when(1, 0) + " o==group"},
                    {"any", ""}};
    }
    Func in_x = input("x"), weight = input("weight"), dy = input("dy");
    Func dx = output("dx");
    Func padded{"padded"}, filter{"filter"}, run{"run"}, phases{"phases"}, sum{"sum"},
        images{"images"};  // x: for its shape
    Var k{"k"}, a{"a"}, b{"b"};
    RDom r;
    Winograd winograd;
    DeepWinograd deep;
    Depthwise depthwise;

    void algorithm() override {
        if (by_depth()) return turned_taps();
        if (variant == "lanes") return by_images();
        if (pointwise()) {
            r = RDom(0, size("o"));
            sum(x, y, c, n) += weight(0, 0, c, r) * dy(x, y, r, n);
            dx(x, y, c, n) = sum(x, y, c, n);
            return;
        }
        if (variant == "phases") return by_phases();
        const Expr last = size("c") - 1;
        const Expr cg = size("c/group"), og = size("o/group");
        const Expr from_x = x / stride_w;
        const Expr from_y = y / stride_h;  // floors: below 0 stays below 0
        const Expr hit = inside(from_x, from_y, size("ow"), size("oh")) && x % stride_w == 0 &&
                         y % stride_h == 0;
        padded(x, y, c,
               n) = select(hit,
                           dy(clamp(from_x, 0, size("ow") - 1), clamp(from_y, 0, size("oh") - 1),
                              clamp(c, 0, size("o") - 1), n),
                           0_r);
        const Expr into = clamp(n, 0, last);
        filter(x, y, c, n) = weight(x, y, dense() ? into : into % max(cg, 1),
                                    first_of_group(into, cg, og) + c);
        if (deep_tiles()) {
            run(k, n, c) = weight(k % 3, k / 3, clamp(n, 0, last), c);
            deep.define(padded, run, 1, true, pad_left - 2, pad_top - 2, size("o"), size("w"),
                        size("h"), size("n"), lanes);
            dx(x, y, c, n) = deep.at(x, y, c, n);
            return;
        }
        if (variant == "winograd") {
            Func turned("turned");
            turned(x, y, c, n) = filter(2 - x, 2 - y, c, n);
            winograd.define(padded, turned, pad_left - 2, pad_top - 2, size("o"), lanes);
            dx(x, y, c, n) = winograd.at(x, y, c, n);
            return;
        }
        r = RDom(0, size("v"), 0, size("u"), 0, og);
        sum(x, y, c, n) += filter(r.x, r.y, r.z, c) *
                           padded(x + pad_left - r.x * dil_w, y + pad_top - r.y * dil_h,
                                  first_of_group(clamp(c, 0, last), cg, og) + r.z, n);
        dx(x, y, c, n) = sum(x, y, c, n);
    }
    void turned_taps() {
        Func taps("taps");
        taps(x, y, c) = weight(size("v") - 1 - x, size("u") - 1 - y, 0, c);
        const Margin across = {size("ow"), (size("v") - 1) * dil_w - pad_left, depth_stride()};
        const Margin down = {size("oh"), (size("u") - 1) * dil_h - pad_top, depth_stride()};
        const PaddedMap map = masks() && depth_stride() == 1
                                  ? PaddedMap::masked("map", dy, across, down)
                                  : PaddedMap("map", dy, across, down);
        depthwise.define(map, taps, 1, depth_side(), {size("v"), dil_w}, {size("u"), dil_h}, lanes);
        dx(x, y, c, n) = depthwise.at(x, y, c, n);
    }
    // For strides above 1: pixels of the same remainders (a, b) see the same taps, so no zeros are
    // multiplied.
    void by_phases() {
        const Expr first_x = (a + pad_left) % stride_w;
        const Expr first_y = (b + pad_top) % stride_h;
        padded = zero_outside(dy, size("ow"), size("oh"), size("o"));
        filter(x, y, c, n) = weight(clamp(x, 0, size("v") - 1), clamp(y, 0, size("u") - 1),
                                    clamp(n, 0, size("c") - 1), c);
        r = RDom(0, (size("v") + stride_w - 1) / stride_w, 0, (size("u") + stride_h - 1) / stride_h,
                 0, size("o"));
        const Expr tap_x = first_x + r.x * stride_w;
        const Expr tap_y = first_y + r.y * stride_h;
        r.where(tap_x < size("v") && tap_y < size("u"));
        sum(x, y, a, b, c, n) += filter(tap_x, tap_y, r.z, c) *
                                 padded(x + (a + pad_left) / stride_w - r.x,
                                        y + (b + pad_top) / stride_h - r.y, r.z, n);
        phases(x, y, a, b, c, n) = sum(x, y, a, b, c, n);
        dx(x, y, c, n) = phases(x / stride_w, y / stride_h, x % stride_w, y % stride_h, c, n);
    }
    // Stride 2, 3 x 3: 128 to 64 channels at 28 to 56 pixels 0.57 ms, 4.19 with "any"; 1 x 1, 512
    // to 256 at 28 to 56: 1.14, 18.7.
    void phase_tiles(const Cpu &cpu) {
        Func o = store();
        const int v = cpu.lanes;
        const int block = v * (cpu.has_avx512() ? 2 : 1);
        const int across = 7, down = 2;
        const int strip = cpu.pick("strip", {16, 32});
        Var co, ci, yo, yi, xo, xi;
        Var px = var(0), py = var(1), pc = var(2), pn = var(3);
        o.split(pc, co, ci, block, Tail::GuardWithIf)
            .split(py, yo, yi, strip, Tail::GuardWithIf)
            .reorder(ci, px, yi, yo, pn, co);
        o.vectorize(ci, v).parallel(co).parallel(pn).parallel(yo);
        padded.compute_root().parallel(c).parallel(n).vectorize(x, v, Tail::RoundUp);
        filter.compute_at(o, co)
            .reorder_storage(n, c, x, y)
            .reorder(n, x, y, c)
            .bound_extent(n, block)
            .vectorize(n, v)
            .unroll(n);
        phases.compute_at(o, yo)
            .bound_extent(c, block)
            .reorder_storage(c, x, y, a, b, n)
            .split(x, xo, xi, across, Tail::RoundUp)
            .split(y, yo, yi, down, Tail::RoundUp);
        phases.reorder(c, xi, yi, xo, yo, a, b, n).vectorize(c, v).unroll(c).unroll(xi).unroll(yi);
        sum.compute_at(phases, xo)
            .bound_extent(x, across)
            .bound_extent(y, down)
            .bound_extent(c, block)
            .reorder_storage(c, x, y, a, b, n);
        sum.reorder(c, x, y).vectorize(c, v).unroll(c).unroll(x).unroll(y);
        sum.update()
            .reorder(c, x, y, r.z, r.x, r.y, a, b, n)
            .vectorize(c, v)
            .unroll(c)
            .unroll(x)
            .unroll(y);
    }
    // For small maps of few channels: images in the vector. Taps outside dy are left out exactly.
    void by_images() {
        const Expr w = size("ow"), h = size("oh");
        images(n, x, y, c) = dy(clamp(x, 0, w - 1), clamp(y, 0, h - 1), c,
                                clamp(n, 0, size("n") - 1));
        r = RDom(0, size("v"), 0, size("u"), 0, size("o"));
        const Expr from_x = x + pad_left - r.x * dil_w;
        const Expr from_y = y + pad_top - r.y * dil_h;
        r.where(from_y >= 0 && from_y < h && from_x >= 0 && from_x < w);
        sum(n, x, y, c) += weight(r.x, r.y, clamp(c, 0, size("c") - 1), r.z) *
                           images(n, from_x, from_y, r.z);
        dx(x, y, c, n) = sum(n, x, y, c);
    }
    void image_tiles(const Cpu &cpu) {
        Func o = store();
        const int v = cpu.lanes;
        const int channels = cpu.pick("tile_c", {6});
        Var no, ni, co, ci;
        Var px = var(0), py = var(1), pc = var(2), pn = var(3);
        o.split(pn, no, ni, v, Tail::GuardWithIf)
            .split(pc, co, ci, channels, Tail::GuardWithIf)
            .reorder(ni, ci, px, py, co, no)
            .vectorize(ni)
            .parallel(py)
            .parallel(no);
        o.specialize(o.output_buffer().dim(3).extent() % v == 0);
        sum.compute_at(o, px).bound_extent(n, v).bound_extent(c, channels).vectorize(n).unroll(c);
        sum.update().reorder(n, c, x, r.z, r.x, r.y).vectorize(n).unroll(c);
        images.compute_root().vectorize(n, v, Tail::RoundUp).parallel(c);
    }
    void schedule(const Cpu &cpu) override {
        from_zero();
        if (by_depth()) return depthwise.schedule(cpu, store());
        if (cpu.variant == "lanes") return image_tiles(cpu);
        if (cpu.variant == "phases") return phase_tiles(cpu);
        if (pointwise()) return pointwise_tiles(cpu, sum, r);
        if (deep_tiles()) {
            memory[1].dim(1).set_stride(3);
            memory[1].dim(2).set_stride(9);
            return deep.schedule(cpu, store());
        }
        if (cpu.variant == "winograd") return winograd.schedule(cpu, store());
        if (cpu.variant == "packed") return channel_tiles(cpu, padded, filter, sum, r);
        pixel_tiles(cpu, padded, sum, r);
        padded.specialize(stride_w == 1 && stride_h == 1);
        store().specialize(groups == 1);
    }
    void schedule(const Ascend &npu) override {
        ascend::convolve(npu, *this, ascend::Gradient::image);
    }
    void reference(Problem &p) const override {
        const Array &g = p("dy"), &k = p("weight");
        Array &out = p("dx");
        Array &size = p.abs_sum["dx"] = Array(out.shape);
        const int64_t per_group = p["c"] / p["group"];
        each_product(p, [&](int64_t i, int64_t o, int64_t oy, int64_t ox, int64_t ch, int64_t iy,
                            int64_t ix, int64_t u, int64_t v, bool real) {
            if (!real) return;
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
};

// dweight: x correlated with dy. Fixed blocks of images are summed apart, then added up in their
// order.
struct Conv2dDweight : Convolution {
    Conv2dDweight()
        : Convolution("conv2d_dweight",
                      "x[n,c,h,w] weight[o,c/group,u,v] dy[n,o,oh,ow] -> dweight[o,c/group,u,v]") {
        internal = true;
        conditions.push_back("n>=1");
        variants = {
            {"winograd", "group==1 u==3 v==3 stride_h==1 stride_w==1 dil_h==1 dil_w==1 c>=2*lanes "
                         "o>=32 2*n*oh*ow>=c n*oh*ow<=16384"},
            {"matrix", "group==1 u==3 v==3 c>=lanes o>=32 n*oh*ow<=16*o weight_s1==3 weight_s2==9"},
            {"matrix_1", "group==1 u==1 v==1 c>=lanes o>=32 weight_s2==1"},
            {"taps", "group==1 u<=8 v<=8 u*v>=25 c<=4 o>=4 (n<16||oh*ow>1024)"},
            {"channels", "group==1 o>=32 v>=3"},
            {"lanes", "group==1 n>=16 oh*ow<=1024"},
            {"depthwise_3", depthwise_when(1, 3) + " o==group"},
            {"depthwise_3_2", depthwise_when(2, 3) + " o==group"},
            {"any", ""}};
    }
    // weight: for its shape
    Func in_x = input("x"), weight = input("weight"), dy = input("dy");
    Func dweight = output("dweight");
    Func padded, patches{"patches"}, wide{"wide"}, images{"images"}, terms{"terms"}, part{"part"},
        total{"total"};
    Var l{"l"}, b{"b"};
    RDom r, rl, rb;
    WinogradTaps winograd;
    DepthwiseTaps depthwise;
    // pixels of a row that are summed apart; images of a block
    static constexpr int width = 16, block = 4;

    // of a filter, known when compiled
    int side() const { return variant == "matrix" ? 3 : variant == "matrix_1" ? 1 : 0; }
    Expr at_x(const Expr &ox, const Expr &v) const { return ox * stride_w + v * dil_w - pad_left; }
    Expr at_y(const Expr &oy, const Expr &u) const { return oy * stride_h + u * dil_h - pad_top; }

    // In every variant (x, y, c, n) is an element of the filter (v, u, input channel, output
    // channel) and b a block of images.
    void algorithm() override {
        if (by_depth()) {
            const PaddedMap map("map", in_x, {size("w"), pad_left}, {size("h"), pad_top});
            const PaddedMap edged("edged", dy, {size("ow"), 0}, {size("oh"), 0});
            depthwise.define(map, edged, depth_stride(), depth_side(), size("ow"), size("oh"),
                             size("n"), lanes);
            dweight(x, y, c, n) = depthwise.at(x, y, n);
            return;
        }
        padded = zero_outside(in_x, size("w"), size("h"), size("c"));
        if (variant == "winograd") {
            Func edged = zero_outside(dy, size("ow"), size("oh"), size("o"));
            winograd.define(padded, edged, -pad_left, -pad_top, size("ow"), size("oh"), size("n"),
                            lanes);
            dweight(x, y, c, n) = winograd.at(x, y, c, n);
            return;
        }
        if (side()) return as_matrix();
        if (variant == "taps") return by_taps();
        if (variant == "channels")
            by_channels();
        else if (variant == "lanes")
            by_images();
        else
            by_pixels();
        total(x, y, c, n) += part(x, y, c, n, rb);
        dweight(x, y, c, n) = total(x, y, c, n);
    }
    // A product of matrices, dy[o,pixels] by the patches under them [pixels,taps]. A row of the
    // result is a filter as it lies in memory: c by u by v is one dimension, l, in the vector.
    void as_matrix() {
        const Expr tap = l % (side() * side());
        patches(l, x, y, n) = padded(at_x(x, tap % side()), at_y(y, tap / side()),
                                     l / (side() * side()), n);
        r = RDom(0, size("ow"), 0, size("oh"));
        rb = RDom(0, size("n"));
        terms(l, c, n) += patches(l, r.x, r.y, n) * dy(r.x, r.y, clamp(c, 0, size("o") - 1), n);
        part(l, c) += terms(l, c, rb);
        dweight(x, y, c, n) = part((c * side() + y) * side() + x, n);
    }
    // For large filters of few channels: a filter, as 8 x 8 taps, is one dimension, l, in the
    // vector. A row of dy is summed in registers.
    void by_taps() {
        patches(l, x, c, y, n) = padded(at_x(x, l % 8), at_y(y, l / 8), c, n);
        r = RDom(0, size("ow"));
        rb = RDom(0, size("oh"), 0, size("n"));
        terms(l, c, n, y, b) += patches(l, r, c, y, b) * dy(r, y, clamp(n, 0, size("o") - 1), b);
        part(l, c, n) += terms(l, c, n, rb.x, rb.y);
        dweight(x, y, c, n) = part(y * 8 + x, c, n);
    }
    void by_pixels() {
        const Expr N = size("n"), ow = size("ow");
        const Expr last = size("o") - 1;
        wide(x, y, c, n) = select(
            x < ow, dy(clamp(x, 0, ow - 1), y, clamp(c, 0, last), clamp(n, 0, N - 1)), 0_r);
        r = RDom(0, (ow + width - 1) / width, 0, size("oh"), 0, block);
        rl = RDom(0, width);
        rb = RDom(0, (N + block - 1) / block);
        r.where(b * block + r.z < N);
        const Expr at = r.x * width + l;
        const Expr image = b * block + r.z;
        const Expr first = first_of_group(clamp(n, 0, last), size("o/group"), size("c/group"));
        // r.where keeps image below N, but bounds inference doesn't always see that: unscheduled,
        // it asked for images beyond the last.
        terms(l, x, y, c, n, b) += wide(at, r.y, n, image) *
                                   padded(at_x(at, x), at_y(r.y, y), first + c, min(image, N - 1));
        part(x, y, c, n, b) += terms(rl, x, y, c, n, b);
    }
    // One sum per image in registers, output channels in the vector; the images of a block are
    // added up in L2.
    void by_channels() {
        const Expr N = size("n");
        wide(n, x, y, l) = dy(x, y, clamp(n, 0, size("o") - 1), l);
        r = RDom(0, size("ow"), 0, size("oh"));
        rl = RDom(0, block);
        rb = RDom(0, (N + block - 1) / block);
        rl.where(b * block + rl < N);
        terms(n, c, x, y, l) += wide(n, r.x, r.y, l) * padded(at_x(r.x, x), at_y(r.y, y), c, l);
        part(x, y, c, n, b) += terms(n, c, x, y, b * block + rl);
    }
    // For small maps: images in the vector.
    void by_images() {
        const Expr N = size("n"), w = size("w"), h = size("h");
        images(l, x, y, c,
               b) = select(b * lanes + l < N && inside(x, y, w, h),
                           in_x(clamp(x, 0, w - 1), clamp(y, 0, h - 1), clamp(c, 0, size("c") - 1),
                                clamp(b * lanes + l, 0, N - 1)),
                           0_r);
        wide(l, x, y, c,
             b) = select(b * lanes + l < N,
                         dy(x, y, clamp(c, 0, size("o") - 1), clamp(b * lanes + l, 0, N - 1)), 0_r);
        r = RDom(0, size("ow"), 0, size("oh"));
        rl = RDom(0, lanes);
        rb = RDom(0, (N + lanes - 1) / lanes);
        terms(l, x, y, c, n, b) += wide(l, r.x, r.y, n, b) *
                                   images(l, at_x(r.x, x), at_y(r.y, y), c, b);
        part(x, y, c, n, b) += terms(rl, x, y, c, n, b);
    }

    void schedule(const Cpu &cpu) override {
        from_zero();
        if (by_depth()) return depthwise.schedule(cpu, store());
        if (cpu.variant == "winograd") return winograd.schedule(cpu, store());
        if (side()) return matrix_tiles(cpu);
        if (cpu.variant == "taps") return tap_tiles(cpu);
        if (cpu.variant == "channels")
            channel_sums(cpu);
        else if (cpu.variant == "lanes")
            image_sums(cpu);
        else
            pixel_sums(cpu);
        store().parallel(var(3));
        total.compute_at(store(), var(3));
        total.update().reorder(x, y, c, n, rb);
    }
    // One thread, AVX-512 on an AMD EPYC Zen 5: 512 channels at 7 x 7 1.14 ms, 9.15 with
    // "channels"; 256 at 14 x 14 1.04, 2.28.
    void matrix_tiles(const Cpu &cpu) {
        const int v = cpu.lanes;
        const int taps = side() * side();
        const int tile = v * (taps > 1 ? 3 : 2);
        const int across = taps > 1 ? taps * v : tile;
        const int outs = cpu.pick("outs", {cpu.has_avx512() ? 8 : 4});
        Func o = store();
        Var row, block, ki, no, ni, lo, li;
        for (int d = 0; d < 2; d++) {
            o.output_buffer().dim(d).set_extent(side());
            o.bound(var(d), 0, side());
        }
        o.output_buffer().dim(1).set_stride(side());
        o.output_buffer().dim(2).set_stride(taps);
        o.fuse(var(0), var(1), row)
            .fuse(row, var(2), row)
            .split(row, block, ki, across, Tail::GuardWithIf)
            .split(var(3), no, ni, outs, Tail::GuardWithIf);
        o.reorder(ki, ni, no, block).vectorize(ki, v).parallel(block);
        padded.compute_root().parallel(c).parallel(n).vectorize(x, v, Tail::RoundUp);
        o.specialize(o.output_buffer().dim(2).extent() % v == 0 &&
                     o.output_buffer().dim(3).extent() % outs == 0)
            .unroll(ki)
            .unroll(ni);
        patches.compute_at(o, block)
            .bound_extent(l, across)
            .split(l, lo, li, v)
            .reorder(li, x, y, n, lo)
            .vectorize(li);
        part.compute_at(o, no)
            .bound_extent(l, across)
            .bound_extent(c, outs)
            .vectorize(l, v)
            .unroll(l)
            .unroll(c);
        part.update()
            .split(l, lo, li, tile)
            .reorder(li, c, lo, rb)
            .vectorize(li, v)
            .unroll(li)
            .unroll(c);
        terms.compute_at(part, lo)
            .bound_extent(l, tile)
            .bound_extent(c, outs)
            .vectorize(l, v)
            .unroll(l)
            .unroll(c);
        terms.update().reorder(l, c, r.x, r.y).vectorize(l, v).unroll(l).unroll(c);
    }
    // The stem of ResNet, 7 x 7 from 3 to 64 channels: 1.57 ms, 24.8 with "channels"; with strips
    // of 32 (more tasks) 1.94.
    void tap_tiles(const Cpu &cpu) {
        const int v = cpu.lanes;
        const int tile = 4 * v;
        const int outs = cpu.pick("outs", {cpu.has_avx512() ? 4 : 2});
        const int strip = cpu.pick("strip", {64, 32});
        Func o = store();
        Var lo, li, no, ni, ns;
        o.split(var(3), ns, ni, strip, Tail::GuardWithIf)
            .reorder(var(0), var(1), ni, var(2), ns)
            .parallel(var(2))
            .parallel(ns);
        padded.compute_root().parallel(c).parallel(n).vectorize(x, v, Tail::RoundUp);
        part.compute_at(o, var(2)).bound_extent(l, 64).vectorize(l, v);
        part.update()
            .split(n, no, ni, outs, Tail::RoundUp)
            .split(l, lo, li, tile)
            .reorder(li, ni, c, lo, no, rb.x, rb.y)
            .vectorize(li, v)
            .unroll(li)
            .unroll(ni);
        patches.compute_at(part, rb.x).bound_extent(l, 64).vectorize(l, 8);
        terms.compute_at(part, lo)
            .bound_extent(l, tile)
            .bound_extent(n, outs)
            .vectorize(l, v)
            .unroll(l)
            .unroll(n);
        terms.update().reorder(l, n, r).vectorize(l, v).unroll(l).unroll(n);
    }
    void pixel_sums(const Cpu &cpu) {
        const int v = cpu.lanes;
        const int taps = 3;
        const int outs = std::max(1, (cpu.has_avx512() ? 18 : 9) / (width / v * taps));
        Var no, ni, xo, xi;
        padded.compute_root().parallel(c).parallel(n).vectorize(x, v, Tail::RoundUp);
        wide.compute_root().parallel(c).parallel(n).vectorize(x, v, Tail::RoundUp);
        part.compute_root().parallel(n).parallel(b);
        part.update()
            .split(n, no, ni, outs, Tail::GuardWithIf)
            .split(x, xo, xi, taps, Tail::GuardWithIf)
            .reorder(rl, xi, ni, xo, y, c, no, b);
        part.update().atomic().vectorize(rl).parallel(no).parallel(b);
        terms.compute_at(part, xo)
            .bound_extent(l, width)
            .bound_extent(n, outs)
            .bound_extent(x, taps)
            .vectorize(l, v)
            .unroll(l)
            .unroll(x)
            .unroll(n);
        terms.update()
            .reorder(l, x, n, r.x, r.y, r.z)
            .vectorize(l, v)
            .unroll(l)
            .unroll(x)
            .unroll(n);
        terms.update().specialize(groups == 1 && stride_w == 1 && dil_w == 1);
    }
    void channel_sums(const Cpu &cpu) {
        const int v = cpu.lanes;
        const int outs = 2 * v;
        const int ins = cpu.pick("tile_c", {cpu.has_avx512() ? 4 : 2});
        const int taps = 3;
        const int strip = cpu.pick("strip", {64, 16});
        Var no, ni, co, ci, cb, cm, xo, xi;
        padded.compute_root().parallel(c).parallel(n).vectorize(x, v, Tail::RoundUp);
        part.reorder_storage(n, c, x, y, b)
            .compute_root()
            .reorder(n, c, x, y, b)
            .vectorize(n, v, Tail::RoundUp)
            .parallel(c)
            .parallel(b);
        part.update()
            .split(n, no, ni, outs, Tail::GuardWithIf)
            .split(c, cb, cm, strip, Tail::GuardWithIf)
            .split(cm, co, ci, ins, Tail::GuardWithIf)
            .split(x, xo, xi, taps, Tail::GuardWithIf);
        part.update()
            .reorder(ni, ci, xi, xo, y, co, rl, cb, no, b)
            .vectorize(ni, v)
            .parallel(b)
            .parallel(no)
            .parallel(cb);
        terms.compute_at(part, xo)
            .bound_extent(n, outs)
            .bound_extent(c, ins)
            .bound_extent(x, taps)
            .vectorize(n, v)
            .unroll(n)
            .unroll(c)
            .unroll(x);
        terms.update().reorder(n, c, x, r.x, r.y).vectorize(n, v).unroll(n).unroll(c).unroll(x);
        wide.compute_at(part, rl).bound_extent(n, outs).vectorize(n, v).unroll(n);
    }
    void image_sums(const Cpu &cpu) {
        const int v = cpu.lanes;
        const int outs = 2;
        const int taps = cpu.pick("taps", {5, 3});
        Var no, ni, xo, xi;
        images.compute_root().bound(l, 0, v).vectorize(l).parallel(c).parallel(b);
        wide.compute_root().bound(l, 0, v).vectorize(l).parallel(c).parallel(b);
        part.compute_root().parallel(c).parallel(b);
        part.update()
            .split(n, no, ni, outs, Tail::GuardWithIf)
            .split(x, xo, xi, taps, Tail::GuardWithIf)
            .reorder(rl, xi, ni, xo, no, y, c, b);
        part.update().atomic().vectorize(rl).parallel(c).parallel(b);
        terms.compute_at(part, xo)
            .bound_extent(l, v)
            .bound_extent(n, outs)
            .bound_extent(x, taps)
            .vectorize(l)
            .unroll(x)
            .unroll(n);
        terms.update().reorder(l, x, n, r.x, r.y).vectorize(l).unroll(x).unroll(n);
    }
    void schedule(const Ascend &npu) override {
        ascend::convolve(npu, *this, ascend::Gradient::filters);
    }
    void reference(Problem &p) const override {
        const Array &in = p("x"), &g = p("dy");
        Array &out = p("dweight");
        Array &size = p.abs_sum["dweight"] = Array(out.shape);
        const int64_t per_group = p["c"] / p["group"];
        each_product(p, [&](int64_t i, int64_t o, int64_t oy, int64_t ox, int64_t ch, int64_t iy,
                            int64_t ix, int64_t u, int64_t v, bool real) {
            if (!real) return;
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
};

}  // namespace

HALYARD_OPS {
    ops.add<Conv2dDx>();
    ops.add<Conv2dDweight>();
}

}  // namespace halyard
