// The mean of each window, and the gradient.
#include "kernels/pooling/pool.h"

namespace halyard {
namespace {

using Halide::clamp;
using Halide::Expr;
using Halide::likely;

// Padding is 0. Its places count in the divisor only under `pad` with count_include_pad, those
// beyond it never.
struct AvgBase : Pool {
    AvgBase(const std::string &name, const std::string &signature, const std::string &mindspore)
        : Pool(name, signature, mindspore) {
        flag("count_include_pad", true);
        flag("ceil_mode", false);
        attr("divisor_override", 0);
        conditions.push_back("divisor_override>=0");
        variants[0].when += " divisor_override==0";
        samples.push_back("n=1 c=2 h=8 w=9 kernel_size=3,3 stride=2,2 pad_mode=pad padding=1,1,1,1 "
                          "count_include_pad=0");
        samples.push_back("n=1 c=2 h=5 w=6 kernel_size=3,2 stride=2,3 pad_mode=pad padding=1,1,1,0 "
                          "ceil_mode=1 count_include_pad=0");
        samples.push_back("n=1 c=3 h=6 w=6 kernel_size=2,2 stride=2,2 divisor_override=3");
        contract = {Contract::normwise, 8};
    }
    Expr all = derived("count_all", "pad_mode==pad&&count_include_pad"),
         divisor = derived("divisor_override", "divisor_override");
    Expr pb = derived("pad_bottom", "pad_mode==pad?bottom:0"),
         pr = derived("pad_right", "pad_mode==pad?right:0");

    Expr count(const Expr &ox, const Expr &oy) const {
        const auto lines = [&](const Expr &from, const Expr &kernel, const Expr &end,
                               const Expr &after) {
            return select(all != 0, min(kernel, end + after - from),
                          min(from + kernel, end) - max(from, 0));
        };
        const Expr places = lines(ox * sw - pl, kw, size("w"), pr) *
                            lines(oy * sh - pt, kh, size("h"), pb);
        return math::real(select(divisor != 0, divisor, max(places, 1)));
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
    AvgPool2d() : AvgBase("avg_pool2d", "x[n,c,h,w] -> y[n,c,oh,ow]", "AvgPool2d") {
        doc =
            "y = sum of x over each window / its places, or / divisor_override where that isn't 0";
        variants.insert(variants.begin(), thirds_of("y"));
    }
    Func x = input("x");
    Func y = output("y");
    Func sum{"sum"};
    RDom k;

    void algorithm() override {
        if (thirds()) {
            places = Func("places");
            places(vx, vy) = count(vx, vy);
            y(vx, vy, vc,
              vn) = by_thirds(x, 0_r, [](const Expr &p, const Expr &q) -> Expr { return p + q; }) /
                    places(vx, vy);
            return;
        }
        if (halves()) {
            auto at = [&](int b, int a) { return x(vx * 2 + b, vy * 2 + a, vc, vn); };
            y(vx, vy, vc, vn) = ((at(0, 0) + at(1, 0)) + (at(0, 1) + at(1, 1))) * 0.25_r;
            return;
        }
        k = RDom(0, kw, 0, kh);
        const Expr c = vx * sw + k.x - pl;
        const Expr r = vy * sh + k.y - pt;
        const Expr cc = clamp(likely(c), 0, size("w") - 1);
        const Expr cr = clamp(likely(r), 0, size("h") - 1);
        sum(vx, vy, vc, vn) += select(c == cc && r == cr, x(cc, cr, vc, vn), 0_r);
        y(vx, vy, vc, vn) = sum(vx, vy, vc, vn) / count(vx, vy);
        scans = {sum};
    }
    void schedule(const Ascend &npu) override { pooled(npu, ascend::Pooled::mean); }
    void reference(Problem &p) const override {
        each(p, [&](int64_t n, int64_t c, int64_t a, int64_t b, const Window &w) {
            double total = 0;
            for (int64_t i = w.top; i < w.bottom; i++) {
                for (int64_t j = w.left; j < w.right; j++)
                    total += p("x")(n, c, i, j);
            }
            p("y")(n, c, a, b) = total / count(p, a, b);
        });
    }
};

// x is there for its shape alone.
struct AvgPool2dDx : AvgBase {
    AvgPool2dDx() : AvgBase("avg_pool2d_dx", "x[n,c,h,w] dy[n,c,oh,ow] -> dx[n,c,h,w]", "") {
        internal = true;
    }
    Func x = input("x"), dy = input("dy");
    Func dx = output("dx");
    Func sum{"sum"};
    RDom j;

    void algorithm() override {
        const Expr ow = size("ow"), oh = size("oh");
        if (halves()) {
            const Expr ox = vx / 2;
            const Expr oy = vy / 2;
            dx(vx, vy, vc, vn) = select(ox < ow && oy < oh,
                                        dy(min(ox, ow - 1), min(oy, oh - 1), vc, vn) * 0.25_r, 0_r);
            return;
        }
        j = RDom(0, (kw + sw - 1) / sw, 0, (kh + sh - 1) / sh);
        const Expr ox = (vx + pl) / sw - j.x;
        const Expr oy = (vy + pt) / sh - j.y;
        const Expr cx = clamp(ox, 0, ow - 1);
        const Expr cy = clamp(oy, 0, oh - 1);
        const Expr inside = ox == cx && oy == cy && vx + pl - cx * sw < kw &&
                            vy + pt - cy * sh < kh;
        sum(vx, vy, vc, vn) += select(inside, dy(cx, cy, vc, vn) / count(cx, cy), 0_r);
        dx(vx, vy, vc, vn) = sum(vx, vy, vc, vn);
        scans = {sum};
    }
    void schedule(const Ascend &npu) override { pooled(npu, ascend::Pooled::mean_dx); }
    void reference(Problem &p) const override {
        std::fill(p("dx").v.begin(), p("dx").v.end(), 0.0);
        each(p, [&](int64_t n, int64_t c, int64_t a, int64_t b, const Window &w) {
            for (int64_t i = w.top; i < w.bottom; i++) {
                for (int64_t q = w.left; q < w.right; q++)
                    p("dx")(n, c, i, q) += p("dy")(n, c, a, b) / count(p, a, b);
            }
        });
    }
};

}  // namespace

HALYARD_OPS {
    ops.add<AvgPool2d>();
    ops.add<AvgPool2dDx>();
}

}  // namespace halyard
