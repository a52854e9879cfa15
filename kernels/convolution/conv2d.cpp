// conv2d: the cross-correlation of feature maps with a bank of filters, NCHW and OIHW.
#include "dsl/ascend/convolution/convolution.h"
#include "dsl/ascend/schedule.h"
#include "kernels/convolution/convolution.h"
#include "kernels/convolution/depthwise.h"
#include "kernels/convolution/winograd.h"

namespace halyard {
namespace {

struct Conv2d : Convolution {
    Conv2d() : Conv2d("conv2d", "x[n,c,h,w] weight[o,c/group,u,v] -> y[n,o,oh,ow]") {}
    Conv2d(const std::string &op, const std::string &text) : Convolution(op, text) {
        doc = "y[o] = sum over c, u, v of weight[o,c,u,v] * x[c], shifted by (u, v) * dilation; "
              "stride, padding and groups as in MindSpore";
        if (op == "conv2d") alias = "Conv2D";
        const std::string tiled = "u==3 v==3 stride_h==1 stride_w==1 dil_h==1 dil_w==1 group==1 ";
        const std::string deep_ones =
            tiled + "c%lanes==0 o>=32 ow>=4 oh>=4 (n*oh*ow<=1600||ow<8) weight_s1==3 weight_s2==9";
        // With few products a sum is dear to store by channels, which are apart: where pixels fill
        // their vectors, "any" stores rows. Its time over that of "packed", one thread, AVX-512 on
        // an AMD EPYC Zen 5: 3 to 64 channels, 3 x 3, at 32 x 32 0.05, at 224 x 224 0.07, where
        // channels are apart by a multiple of a page, at 56 x 56 0.70; 8 to 64, 5 x 5, at 48 x 48
        // 0.88; 12 to 32, 3 x 3, at 40 x 40, which are 2.5 vectors, 1.06.
        const std::string scattered =
            "(stride_w>1||ow<16||c*u*v>256||c*u*v>32&&ow*8<cdiv(ow,lanes)*lanes*7)";
        variants = {{"deep_7", deep_ones + " n*cdiv(ow,2)*cdiv(oh,2)%tiles==0"},
                    {"deep", deep_ones},
                    {"winograd", tiled + "c>=16 o>=32 ow>=8 oh>=8"},
                    {"pointwise_3", pointwise_when() + "o>=outs w>=1024"},
                    {"pointwise", pointwise_when() + "o>=outs"},
                    {"patches", "group==1 stride_h==2 stride_w==2 dil_h==1 dil_w==1 o>=outs ow>=5 "
                                "oh*ow>=2*lanes c>=32 (u*v==1||oh*ow<=100) oh*ow<=8192"},
                    {"packed", "group==1 o>=32 ow>=5 " + scattered},
                    {"narrow", "group==1 o>=16 ow>=5 " + scattered},
                    {"depthwise_3", depthwise_when(1, 3)},
                    {"depthwise_3_2", depthwise_when(2, 3)},
                    {"depthwise", depthwise_when(1, 0)},
                    {"depthwise_2", depthwise_when(2, 0)},
                    {"any", ""}};
    }
    Func in_x = input("x"), weight = input("weight");
    Func out_y = output("y");
    Func padded, filter{"filter"}, run{"run"}, patches{"patches"}, flat{"flat"}, sum{"sum"};
    Var k{"k"};
    RDom r;
    Winograd winograd;
    DeepWinograd deep;
    Depthwise depthwise;
    PaddedMap whole;
    RDom pixel;
    static constexpr int short_row = 8;

    virtual Expr finished(const Expr &value) const { return value; }  // at (x, y, c, n)
    // finished(), of a tensor of the result's shape
    virtual bool reads_map() const { return false; }

    void algorithm() override {
        if (pointwise()) {
            r = RDom(0, size("c"));
            sum(x, y, c, n) += weight(0, 0, r, c) * in_x(x, y, r, n);
            out_y(x, y, c, n) = finished(sum(x, y, c, n));
            return;
        }
        const Expr last = size("o") - 1;
        if (by_depth()) {
            Func image("image"), taps("taps");
            image(x, y, c, n) = in_x(x, y, clamp(c, 0, last) / max(size("o/group"), 1), n);
            taps(x, y, c) = weight(x, y, 0, clamp(c, 0, last));
            const Margin across = {size("w"), pad_left};
            const Margin down = {size("h"), pad_top};
            const PaddedMap map = masks() ? PaddedMap::masked("map", image, across, down)
                                          : PaddedMap("map", image, across, down);
            depthwise.define(map, taps, depth_stride(), depth_side(), {size("v"), dil_w},
                             {size("u"), dil_h}, lanes);
            out_y(x, y, c, n) = finished(depthwise.at(x, y, c, n));
            return;
        }
        padded = zero_outside(in_x, size("w"), size("h"), size("c"));
        filter(x, y, c, n) = weight(x, y, c, clamp(n, 0, last));
        if (deep_tiles()) {
            run(k, n, c) = weight(k % 9 % 3, k % 9 / 3, c * lanes + k / 9, clamp(n, 0, last));
            deep.define(padded, run, lanes, false, -pad_left, -pad_top, size("c"), size("ow"),
                        size("oh"), size("n"), lanes);
            out_y(x, y, c, n) = finished(deep.at(x, y, c, n));
            return;
        }
        if (variant == "winograd") {
            winograd.define(padded, filter, -pad_left, -pad_top, size("c"), lanes);
            out_y(x, y, c, n) = finished(winograd.at(x, y, c, n));
            return;
        }
        if (variant == "patches") return as_matrix();
        r = RDom(0, size("v"), 0, size("u"), 0, size("c/group"));
        const Expr first = first_of_group(clamp(c, 0, last), size("o/group"), size("c/group"));
        Expr before = pad_left;
        Expr above = pad_top;
        if (masks() && dense()) {
            Func image("image");
            image(x, y, c, n) = in_x(x, y, clamp(c, 0, size("c") - 1), n);
            whole = PaddedMap::masked("padded", image, {size("w"), pad_left}, {size("h"), pad_top});
            padded = whole.f;
            before = 0;
            above = 0;
        }
        sum(x, y, c, n) += filter(r.x, r.y, r.z, c) * padded(x * stride_w + r.x * dil_w - before,
                                                             y * stride_h + r.y * dil_h - above,
                                                             first + r.z, n);
        out_y(x, y, c, n) = finished(sum(x, y, c, n));
    }
    // For small maps that a stride leaves: a product of matrices, filters as they lie by the pixels
    // under each of their taps, as one row. A row of pixels is written in whole vectors, whose
    // excess the next row covers.
    void as_matrix() {
        const PaddedMap map("map", in_x, {size("w"), pad_left}, {size("h"), pad_top});
        const Expr ow = size("ow");
        whole = map;
        r = RDom(0, size("v"), 0, size("u"), 0, size("c"));
        pixel = RDom(0, (ow + short_row - 1) / short_row * short_row, 0, size("oh"));
        patches(k, x, y, c, n) = 0_r;
        patches(pixel.x + pixel.y * ow, x, y, c, n) = map(pixel.x * 2 + x, pixel.y * 2 + y, c, n);
        sum(k, c, n) += weight(r.x, r.y, r.z, c) * patches(k, r.x, r.y, r.z, n);
        flat(k, c, n) = sum(k, c, n);
        out_y(x, y, c, n) = finished(flat(x + y * ow, c, n));
    }
    // oneDNN's time over ours, one thread, AVX-512 on an AMD EPYC Zen 5, its own layouts (row-major
    // ones): 1 x 1, 1024 to 2048 channels at 14 to 7 0.76 (0.99), "packed" 0.33 (0.44); 256 to 512
    // at 56 to 28 0.84 (0.99), 0.78 (0.92); 3 x 3, 512 at 14 to 7 0.86 (1.48), 0.67 (1.16), but 128
    // at 56 to 28 0.89, 0.98.
    void matrix_tiles(const Cpu &cpu) {
        Func o = store();
        const int across = cpu.lanes * cpu.pick("tile_v", {2});
        const int outs = cpu.pick("outs", {cpu.has_avx512() ? 12 : 4});
        Var co, ci, lo, li, xo, xi;
        Var px = var(0), py = var(1), pc = var(2), pn = var(3);
        o.split(pc, co, ci, outs, Tail::ShiftInwards)
            .split(px, xo, xi, cpu.lanes, Tail::GuardWithIf)
            .reorder(xi, xo, py, ci, co, pn)
            .vectorize(xi);
        if (!cpu.target.has_feature(Halide::Target::TSAN)) o.parallel(co);  // as in pointwise_tiles
        o.parallel(pn);
        patches.compute_root().vectorize(k, cpu.lanes, Tail::RoundUp).parallel(c).parallel(n);
        // Vectors of a row don't reach into each other.
        patches.update()
            .allow_race_conditions()
            .reorder(pixel.x, pixel.y, x, y, c, n)
            .parallel(c)
            .parallel(n);
        patches.update().vectorize(RVar(pixel.x), short_row);
        whole.compute_at(patches, c, cpu.lanes);
        flat.compute_at(o, co)
            .bound_extent(c, outs)
            .split(k, lo, li, across, Tail::RoundUp)
            .reorder(li, c, lo)
            .vectorize(li, cpu.lanes)
            .unroll(li)
            .unroll(c);
        sum.compute_at(flat, lo)
            .bound_extent(k, across)
            .bound_extent(c, outs)
            .vectorize(k, cpu.lanes)
            .unroll(k)
            .unroll(c);
        sum.update().reorder(k, c, r.x, r.y, r.z).vectorize(k, cpu.lanes).unroll(k).unroll(c);
        sum.update().specialize(size("v") == 1 && size("u") == 1);
    }
    void schedule(const Cpu &cpu) override {
        from_zero();
        if (variant == "patches") return matrix_tiles(cpu);
        if (pointwise()) return pointwise_tiles(cpu, sum, r);
        if (deep_tiles()) {
            memory[1].dim(1).set_stride(3);
            memory[1].dim(2).set_stride(9);
            return deep.schedule(cpu, store());
        }
        if (by_depth()) return depthwise.schedule(cpu, store(), !reads_map());
        if (cpu.variant == "winograd") return winograd.schedule(cpu, store());
        if (cpu.variant != "any") {
            if (whole.by_rows) whole.compute_masks(cpu.lanes);
            channel_tiles(cpu, padded, filter, sum, r);
            // A tile's pixels then share an address. One thread, AVX-512 on an AMD EPYC Zen 5, 6 to
            // 16 channels, 5 x 5, at 14 x 14: 0.85 of the time, and 0.72 with padding read under
            // masks; 256 channels, 3 x 3, from 28 to 14 0.97, and 0.91.
            sum.update().specialize(stride_w == 1);
            sum.update().specialize(stride_w == 2);
            return;
        }
        pixel_tiles(cpu, padded, sum, r);
        store().specialize(groups == 1 && stride_w == 1 && dil_w == 1);
        store().specialize(groups == 1);
    }
    void schedule(const Ascend &npu) override {
        ascend::convolve(npu, *this, ascend::Gradient::none);
    }
    void reference(Problem &p) const override {
        const Array &in = p("x"), &k = p("weight");
        Array &out = p("y");
        Array &size = p.abs_sum["y"] = Array(out.shape);
        const int64_t per_group = p["c"] / p["group"];
        each_product(p, [&](int64_t i, int64_t o, int64_t oy, int64_t ox, int64_t ch, int64_t iy,
                            int64_t ix, int64_t u, int64_t v, bool real) {
            if (!real) return;
            const double term = k(o, ch % per_group, u, v) * in(i, ch, iy, ix);
            out(i, o, oy, ox) += term;
            size(i, o, oy, ox) += std::fabs(term);
        });
        excuse(p, "y", tiled(p), [&](int64_t, int64_t o) {
            bool any = false;
            for (int64_t ch = 0; ch < per_group; ch++)
                any |= any_special(k, o, ch);
            return any;
        });
    }
};

// With what follows a convolution in a network, while its results are in registers: bias, a
// shortcut z, and an activation that cuts off.
struct Conv2dClamp : Conv2d {
    const bool shortcut;
    explicit Conv2dClamp(bool with_z)
        : Conv2d(with_z ? "conv2d_bias_add_clamp" : "conv2d_bias_clamp",
                 std::string("x[n,c,h,w] weight[o,c/group,u,v] bias[o]") +
                     (with_z ? " z[n,o,oh,ow]" : "") + " -> y[n,o,oh,ow]"),
          shortcut(with_z) {
        internal = true;
        dtypes = {"f32"};
    }
    Func bias = input("bias");
    Func z = shortcut ? input("z") : Func();
    Expr low = scalar("low", -HUGE_VAL);
    Expr high = scalar("high", HUGE_VAL);

    bool reads_map() const override { return shortcut; }
    Expr finished(const Expr &value) const override {
        const Expr sum = value + bias(c) + (shortcut ? z(x, y, c, n) : 0_r);
        return select(sum < low, low, select(sum > high, high, sum));  // NaN stays
    }
    void reference(Problem &p) const override {
        Conv2d::reference(p);
        Array &out = p("y");
        Array &size = p.abs_sum["y"];
        const size_t plane = size_t(p["oh"] * p["ow"]);
        for (size_t i = 0; i < out.v.size(); i++) {
            const double b = p("bias").v[i / plane % size_t(p["o"])];
            const double more = shortcut ? p("z").v[i] : 0;
            const double sum = out.v[i] + b + more;
            size.v[i] += std::fabs(b) + std::fabs(more);
            out.v[i] = sum < p.real("low")    ? p.real("low")
                       : sum > p.real("high") ? p.real("high")
                                              : sum;
            if (std::isnan(sum)) size.v[i] = 0;
        }
    }
};

}  // namespace

HALYARD_OPS {
    ops.add<Conv2d>();
    ops.add<Conv2dClamp>(false);
    ops.add<Conv2dClamp>(true);
}

}  // namespace halyard
