// The mean of each window, and the gradient.
#include "kernels/pooling/pool.h"

namespace halyard {
namespace {

using Halide::clamp;
using Halide::Expr;
using Halide::likely;

// Padding is 0. Its elements count in the divisor only with pad_mode `pad` and count_include_pad;
// elements beyond the padding never count.
struct AvgBase : Pool {
    AvgBase(const std::string &name, const std::string &signature, const std::string &mindspore)
        : Pool(name, signature, mindspore) {
        flag(count_include_pad, true);
        flag(d.ceil_mode, false);
        attr(divisor_override, 0);
        require(divisor_override >= 0);
        samples.push_back("n=1 c=2 h=8 w=9 kernel_size=3,3 stride=2,2 pad_mode=pad padding=1,1,1,1 "
                          "count_include_pad=0");
        samples.push_back("n=1 c=2 h=5 w=6 kernel_size=3,2 stride=2,3 pad_mode=pad padding=1,1,1,0 "
                          "ceil_mode=1 count_include_pad=0");
        samples.push_back("n=1 c=3 h=6 w=6 kernel_size=2,2 stride=2,2 divisor_override=3");
        samples.push_back("n=2 c=3 h=9 w=37 kernel_size=3,3 pad_mode=pad padding=1,1,1,1");
        samples.push_back("n=1 c=2 h=5 w=16 kernel_size=3,3 pad_mode=same ceil_mode=1");
        samples.push_back(
            "n=1 c=2 h=3 w=5 kernel_size=9,7 stride=3,2 pad_mode=pad padding=8,8,6,6");
        samples.push_back("n=1 c=2 h=3 w=4 kernel_size=70000,5 stride=1,100000 pad_mode=same");
        contract = {Contract::products, 8};  // sums may cancel
    }
    static inline const Dim count_include_pad{"count_include_pad"}, count_all{"count_all"};
    static inline const Dim divisor_override{"divisor_override"};
    Expr all = derived(count_all, d.pad_mode == d.pad && count_include_pad);
    Expr divisor = derived(divisor_override, divisor_override);
    Expr pb = derived(Dim("pad_bottom"), select(d.pad_mode == d.pad, d.down.after, 0));
    Expr pr = derived(Dim("pad_right"), select(d.pad_mode == d.pad, d.across.after, 0));

    // Windows of 2 x 2 whose sum is divided by 4.
    static DimExpr is_plain_2x2() { return is_2x2() && divisor_override == 0; }
    // Returns the divisor of window (ox, oy).
    Expr count(const Expr &ox, const Expr &oy) const {
        const auto lines = [&](const Expr &from, const Expr &kernel, const Expr &end,
                               const Expr &after) {
            return select(all != 0, min(kernel, end + after - from),
                          min(from + kernel, end) - max(from, 0));
        };
        const Expr elements = lines(ox * sw - pl, kw, size("w"), pr) *
                              lines(oy * sh - pt, kh, size("h"), pb);
        return math::real(select(divisor != 0, divisor, max(elements, 1)));
    }
    static double count(Problem &p, int64_t a, int64_t b) {
        if (p["divisor_override"]) return double(p["divisor_override"]);
        const Window w = window(p, a, b);
        if (!p["count_all"]) return double((w.bottom - w.top) * (w.right - w.left));
        const int64_t top = a * p["stride_h"] - p["pad_top"];
        const int64_t left = b * p["stride_w"] - p["pad_left"];
        return double((std::min(top + p["kernel_h"], p["h"] + p["bottom"]) - top) *
                      (std::min(left + p["kernel_w"], p["w"] + p["right"]) - left));
    }
};

struct AvgPool2d : AvgBase {
    AvgPool2d();
    Func x = input("x");
    Func y = output("y");
    // The taps that meet the map in one of the windows, which may be far larger than the map.
    Expr first_tap_h = derived(Dim("first_tap_h"), before_all_windows(d.down));
    Expr first_tap_w = derived(Dim("first_tap_w"), before_all_windows(d.across));
    Expr taps_h = derived(Dim("taps_h"), taps(d.down));
    Expr taps_w = derived(Dim("taps_w"), taps(d.across));

    static DimExpr taps(const PoolAxis &a) {
        return min(a.kernel, a.extent + a.border) - before_all_windows(a);
    }
    void schedule(const Ascend &npu) override { schedule_ascend(npu, ascend::Pooled::mean); }
    using Op::schedule;
    void reference(Problem &p) const override {
        Array &abs_sum = p.abs_sum["y"] = Array(p("y").shape);
        each(p, [&](int64_t n, int64_t c, int64_t a, int64_t b, const Window &w) {
            double total = 0, abs_total = 0;
            for (int64_t i = w.top; i < w.bottom; i++) {
                for (int64_t j = w.left; j < w.right; j++) {
                    total += p("x")(n, c, i, j);
                    abs_total += std::fabs(p("x")(n, c, i, j));
                }
            }
            p("y")(n, c, a, b) = total / count(p, a, b);
            abs_sum(n, c, a, b) = abs_total / count(p, a, b);
        });
    }
};

class Mean3x3 : public Pool3x3<AvgPool2d> {
public:
    using Pool3x3::Pool3x3;
    void algorithm(const Build &) override {
        divisors = Func("places");
        divisors(vx, vy) = op.count(vx, vy);
        const auto add = [](const Expr &p, const Expr &q) -> Expr { return p + q; };
        op.y(vx, vy, vc, vn) = reduce(op.x, 0_r, add) / divisors(vx, vy);
    }
};

class Mean2x2 : public PoolVariant<AvgPool2d> {
public:
    using PoolVariant::PoolVariant;
    void algorithm(const Build &) override {
        const auto at = [&](int b, int a) { return op.x(vx * 2 + b, vy * 2 + a, vc, vn); };
        op.y(vx, vy, vc, vn) = ((at(0, 0) + at(1, 0)) + (at(0, 1) + at(1, 1))) * 0.25_r;
    }
    void schedule(const Cpu &cpu) override { op.schedule_2x2(cpu); }
    using Implementation::schedule;
};

class MeanOfWindows : public PoolVariant<AvgPool2d> {
public:
    using PoolVariant::PoolVariant;
    void algorithm(const Build &) override {
        const RDom k(op.first_tap_w, op.taps_w, op.first_tap_h, op.taps_h);
        const Expr column = vx * sw + k.x - pl;
        const Expr row = vy * sh + k.y - pt;
        const Expr in_column = clamp(likely(column), 0, size(d.across.extent) - 1);
        const Expr in_row = clamp(likely(row), 0, size(d.down.extent) - 1);
        sum(vx, vy, vc, vn) += select(column == in_column && row == in_row,
                                      op.x(in_column, in_row, vc, vn), 0_r);
        op.y(vx, vy, vc, vn) = sum(vx, vy, vc, vn) / op.count(vx, vy);
    }
    void schedule(const Cpu &cpu) override { op.schedule_windows(cpu, sum); }
    using Implementation::schedule;

private:
    Func sum{"sum"};
};

AvgPool2d::AvgPool2d() : AvgBase("avg_pool2d", "x[n,c,h,w] -> y[n,c,oh,ow]", "AvgPool2d") {
    doc = "y = sum of x over each window / its places, or / divisor_override where that isn't 0";
    add(variant_of<Mean3x3>(*this, "pool3x3s2", is_3x3(2, x, y), 2));
    add(variant_of<Mean3x3>(*this, "pool3x3s1", is_3x3(1, x, y), 1));
    add(variant_of<Mean2x2>(*this, "pool2x2", is_plain_2x2()));
    add(variant_of<MeanOfWindows>(*this, "", DimExpr::always()));
}

struct AvgPool2dDx : AvgBase {
    AvgPool2dDx();
    Func x = input("x");  // only its shape is read
    Func dy = input("dy");
    Func dx = output("dx");

    void schedule(const Ascend &npu) override { schedule_ascend(npu, ascend::Pooled::mean_dx); }
    using Op::schedule;
    void reference(Problem &p) const override {
        std::fill(p("dx").v.begin(), p("dx").v.end(), 0.0);
        Array &abs_sum = p.abs_sum["dx"] = p("dx");
        each(p, [&](int64_t n, int64_t c, int64_t a, int64_t b, const Window &w) {
            for (int64_t i = w.top; i < w.bottom; i++) {
                for (int64_t q = w.left; q < w.right; q++) {
                    const double term = p("dy")(n, c, a, b) / count(p, a, b);
                    p("dx")(n, c, i, q) += term;
                    abs_sum(n, c, i, q) += std::fabs(term);
                }
            }
        });
    }
};

class Dx2x2 : public PoolVariant<AvgPool2dDx> {
public:
    using PoolVariant::PoolVariant;
    void algorithm(const Build &) override {
        const Expr ow = size(d.across.windows), oh = size(d.down.windows);
        const Expr ox = vx / 2;
        const Expr oy = vy / 2;
        op.dx(vx, vy, vc, vn) = select(
            ox < ow && oy < oh, op.dy(min(ox, ow - 1), min(oy, oh - 1), vc, vn) * 0.25_r, 0_r);
    }
    void schedule(const Cpu &cpu) override { op.schedule_2x2(cpu); }
    using Implementation::schedule;
};

// Each dx gathers the windows over it.
class DxOfWindows : public PoolVariant<AvgPool2dDx> {
public:
    using PoolVariant::PoolVariant;
    void algorithm(const Build &) override {
        const Expr ow = size(d.across.windows), oh = size(d.down.windows);
        const Gathered x_windows = gathered(kw, sw, pl, size(d.across.extent), ow);
        const Gathered y_windows = gathered(kh, sh, pt, size(d.down.extent), oh);
        const RDom j(x_windows.from, x_windows.count, y_windows.from, y_windows.count);
        const Expr ox = (vx + pl) / sw - j.x;
        const Expr oy = (vy + pt) / sh - j.y;
        const Expr cx = clamp(ox, 0, ow - 1);
        const Expr cy = clamp(oy, 0, oh - 1);
        const Expr inside = ox == cx && oy == cy && vx + pl - cx * sw < kw &&
                            vy + pt - cy * sh < kh;
        sum(vx, vy, vc, vn) += select(inside, op.dy(cx, cy, vc, vn) / op.count(cx, cy), 0_r);
        op.dx(vx, vy, vc, vn) = sum(vx, vy, vc, vn);
    }
    void schedule(const Cpu &cpu) override { op.schedule_windows(cpu, sum); }
    using Implementation::schedule;

private:
    struct Gathered {
        Expr from, count;
    };
    // Returns which windows, counted back from the one that begins last before an element, may
    // contain one of the elements of the map.
    static Gathered gathered(const Expr &kernel, const Expr &stride, const Expr &pad,
                             const Expr &extent, const Expr &windows) {
        const Expr from = max(pad / stride - (windows - 1), 0);
        const Expr of_window = (kernel + stride - 1) / stride;
        return {from, min(of_window, (extent - 1 + pad) / stride + 1) - from};
    }
    Func sum{"sum"};
};

AvgPool2dDx::AvgPool2dDx()
    : AvgBase("avg_pool2d_dx", "x[n,c,h,w] dy[n,c,oh,ow] -> dx[n,c,h,w]", "") {
    internal = true;
    add(variant_of<Dx2x2>(*this, "pool2x2", is_plain_2x2()));
    add(variant_of<DxOfWindows>(*this, "", DimExpr::always()));
}

}  // namespace

HALYARD_OPS {
    ops.add<AvgPool2d>();
    ops.add<AvgPool2dDx>();
}

}  // namespace halyard
