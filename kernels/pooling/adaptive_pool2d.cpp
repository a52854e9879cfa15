// Pooling to a given number of windows: along a line of h elements window i is [floor(i h / oh),
// ceil((i+1) h / oh)), as in PyTorch. Calls whose h is a multiple of oh don't get here: their
// windows are alike, and avg_pool2d and max_pool2d compute them.
#include <cmath>

#include "dsl/op.h"

namespace halyard {
namespace {

using Halide::clamp;
using Halide::Expr;

struct Adaptive : Op {
    Adaptive(const std::string &name, const std::string &signature) : Op(name, signature) {
        internal = any_strides = true;
        required("output_size", AttrKind::ints, {"out_h", "out_w"});
        let("oh", "out_h");
        let("ow", "out_w");
        conditions = {"out_h>=1", "out_w>=1", "h>=1", "w>=1"};
        contract = {Contract::products, 8};  // sums may cancel
        samples = {"n=1 c=1 h=1 w=1 output_size=1,1", "n=2 c=3 h=7 w=5 output_size=3,2",
                   "n=1 c=2 h=3 w=37 output_size=5,17", "n=1 c=2 h=10 w=9 output_size=7,4"};
        bench = {"n=8 c=512 h=10 w=10 output_size=7,7"};
    }
    Var vx{"x"}, vy{"y"}, vc{"c"}, vn{"n"};
    Expr oh = derived("out_h", "out_h"), ow = derived("out_w", "out_w");

    static Expr first(const Expr &i, const Expr &in, const Expr &out) { return i * in / out; }
    static Expr end(const Expr &i, const Expr &in, const Expr &out) {
        return ((i + 1) * in + out - 1) / out;
    }
    // Returns a length that no window exceeds.
    static Expr longest(const Expr &in, const Expr &out) { return (in + out - 1) / out + 1; }

    // Calls value(n, c, a, b, top, bottom, left, right) for every window.
    template<class F> static void each(Problem &p, F value) {
        const int64_t h = p["h"];
        const int64_t w = p["w"];
        const int64_t oh = p["oh"];
        const int64_t ow = p["ow"];
        for (int64_t n = 0; n < p["n"]; n++) {
            for (int64_t c = 0; c < p["c"]; c++) {
                for (int64_t a = 0; a < oh; a++) {
                    for (int64_t b = 0; b < ow; b++) {
                        value(n, c, a, b, a * h / oh, ((a + 1) * h + oh - 1) / oh, b * w / ow,
                              ((b + 1) * w + ow - 1) / ow);
                    }
                }
            }
        }
    }
    void schedule(const Cpu &cpu) override {
        const int v = std::max(4, cpu.lanes);  // Pool::vector_size() has the reason
        Func last = store();
        Var plane("plane"), vec("vec"), lane("lane");
        last.fuse(var(2), var(3), plane)
            .parallel(plane)
            .split(var(0), vec, lane, v, Tail::GuardWithIf)
            .vectorize(lane);
        for (Func &f : sums) {
            f.compute_at(last, vec).bound_extent(f.args()[0], v).vectorize(f.args()[0]);
            f.update().vectorize(f.args()[0]);
        }
        if (winner.defined()) {
            winner.compute_at(last, plane);
            found.compute_at(winner, winner.args()[0]);
        }
    }
    std::vector<Func> sums;
    // The index of the maximum of each window of a plane, and of one window.
    Func winner, found;
};

struct AdaptiveAvg : Adaptive {
    AdaptiveAvg() : Adaptive("adaptive_avg_pool2d_kernel", "x[n,c,h,w] -> y[n,c,oh,ow]") {}
    Func x = input("x");
    Func y = output("y");
    Func sum{"sum"};

    void algorithm() override {
        const Expr w = size("w"), h = size("h");
        const RDom k(0, longest(w, ow), 0, longest(h, oh));
        const Expr left = first(vx, w, ow);
        const Expr top = first(vy, h, oh);
        const Expr right = end(vx, w, ow);
        const Expr bottom = end(vy, h, oh);
        const Expr cx = left + k.x;
        const Expr cy = top + k.y;
        sum(vx, vy, vc, vn) += select(cx < right && cy < bottom,
                                      x(clamp(cx, 0, w - 1), clamp(cy, 0, h - 1), vc, vn), 0_r);
        y(vx, vy, vc, vn) = sum(vx, vy, vc, vn) / math::real((right - left) * (bottom - top));
        sums = {sum};
    }
    void reference(Problem &p) const override {
        Array &abs_sum = p.abs_sum["y"] = Array(p("y").shape);
        each(p, [&](int64_t n, int64_t c, int64_t a, int64_t b, int64_t top, int64_t bottom,
                    int64_t left, int64_t right) {
            double total = 0, abs_total = 0;
            for (int64_t i = top; i < bottom; i++) {
                for (int64_t j = left; j < right; j++) {
                    total += p("x")(n, c, i, j);
                    abs_total += std::fabs(p("x")(n, c, i, j));
                }
            }
            const auto count = double((bottom - top) * (right - left));
            p("y")(n, c, a, b) = total / count;
            abs_sum(n, c, a, b) = abs_total / count;
        });
    }
};

// Each dx gathers the windows over it: consecutive ones, of which first(pixel, oh, h) is the first.
struct AdaptiveAvgDx : Adaptive {
    // Only the shape of x is read.
    AdaptiveAvgDx()
        : Adaptive("adaptive_avg_pool2d_kernel_dx", "x[n,c,h,w] dy[n,c,oh,ow] -> dx[n,c,h,w]") {}
    Func x = input("x"), dy = input("dy");
    Func dx = output("dx");
    Func sum{"sum"};

    void algorithm() override {
        const Expr w = size("w"), h = size("h");
        const RDom j(0, longest(ow, w), 0, longest(oh, h));
        const Expr ox = first(vx, ow, w) + j.x;
        const Expr oy = first(vy, oh, h) + j.y;
        const Expr cx = clamp(ox, 0, ow - 1);
        const Expr cy = clamp(oy, 0, oh - 1);
        const Expr left = first(cx, w, ow);
        const Expr top = first(cy, h, oh);
        const Expr count = (end(cx, w, ow) - left) * (end(cy, h, oh) - top);
        const Expr over = ox < ow && oy < oh && left <= vx && top <= vy;
        sum(vx, vy, vc, vn) += select(over, dy(cx, cy, vc, vn) / math::real(count), 0_r);
        dx(vx, vy, vc, vn) = sum(vx, vy, vc, vn);
        sums = {sum};
    }
    void reference(Problem &p) const override {
        p("dx") = Array(p("dx").shape);
        Array &abs_sum = p.abs_sum["dx"] = p("dx");
        each(p, [&](int64_t n, int64_t c, int64_t a, int64_t b, int64_t top, int64_t bottom,
                    int64_t left, int64_t right) {
            for (int64_t i = top; i < bottom; i++) {
                for (int64_t j = left; j < right; j++) {
                    const double term = p("dy")(n, c, a, b) /
                                        double((bottom - top) * (right - left));
                    p("dx")(n, c, i, j) += term;
                    abs_sum(n, c, i, j) += std::fabs(term);
                }
            }
        });
    }
};

struct AdaptiveMax : Adaptive {
    AdaptiveMax() : Adaptive("adaptive_max_pool2d_kernel", "x[n,c,h,w] -> y[n,c,oh,ow]") {
        contract = {Contract::elementwise, 0};
    }
    Func x = input("x");
    Func y = output("y");
    Func window_max{"most"};

    void algorithm() override {
        const Expr w = size("w"), h = size("h");
        const RDom k(0, longest(w, ow), 0, longest(h, oh));
        // The last element of a window stands for those beyond its end.
        const Expr cx = min(first(vx, w, ow) + k.x, end(vx, w, ow) - 1);
        const Expr cy = min(first(vy, h, oh) + k.y, end(vy, h, oh) - 1);
        const Expr in = x(clamp(cx, 0, w - 1), clamp(cy, 0, h - 1), vc, vn);
        window_max(vx, vy, vc, vn) = math::lowest();
        // NaN is larger than any number.
        window_max(vx, vy, vc, vn) = select(in > window_max(vx, vy, vc, vn) || in != in, in,
                                            window_max(vx, vy, vc, vn));
        y(vx, vy, vc, vn) = window_max(vx, vy, vc, vn);
        sums = {window_max};
    }
    void reference(Problem &p) const override {
        each(p, [&](int64_t n, int64_t c, int64_t a, int64_t b, int64_t top, int64_t bottom,
                    int64_t left, int64_t right) {
            double best = -INFINITY;
            for (int64_t i = top; i < bottom; i++) {
                for (int64_t j = left; j < right; j++) {
                    const double v = p("x")(n, c, i, j);
                    if (v > best || std::isnan(v)) best = v;
                }
            }
            p("y")(n, c, a, b) = best;
        });
    }
};

// All of a window's gradient goes to its first maximum, row by row.
struct AdaptiveMaxDx : Adaptive {
    AdaptiveMaxDx()
        : Adaptive("adaptive_max_pool2d_kernel_dx",
                   "x[n,c,h,w] y[n,c,oh,ow] dy[n,c,oh,ow] -> dx[n,c,h,w]") {}
    Func x = input("x"), y = input("y"), dy = input("dy");
    Func dx = output("dx");
    Func sum{"sum"};

    void algorithm() override {
        const Expr w = size("w"), h = size("h");
        const RDom k(0, longest(w, ow), 0, longest(h, oh));
        const RDom j(0, longest(ow, w), 0, longest(oh, h));
        const Expr none = 0x7fffffff;
        const Expr in_x = clamp(min(first(vx, w, ow) + k.x, end(vx, w, ow) - 1), 0, w - 1);
        const Expr in_y = clamp(min(first(vy, h, oh) + k.y, end(vy, h, oh) - 1), 0, h - 1);
        const Expr in = x(in_x, in_y, vc, vn);
        found = Func("found");
        winner = Func("winner");
        found(vx, vy, vc, vn) = none;
        found(vx, vy, vc,
              vn) = min(found(vx, vy, vc, vn),
                        select(in == y(vx, vy, vc, vn) || in != in, in_y * w + in_x, none));
        winner(vx, vy, vc, vn) = found(vx, vy, vc, vn);
        const Expr ox = first(vx, ow, w) + j.x;
        const Expr oy = first(vy, oh, h) + j.y;
        const Expr cx = clamp(ox, 0, ow - 1);
        const Expr cy = clamp(oy, 0, oh - 1);
        sum(vx, vy, vc, vn) += select(ox < ow && oy < oh && winner(cx, cy, vc, vn) == vy * w + vx,
                                      dy(cx, cy, vc, vn), 0_r);
        dx(vx, vy, vc, vn) = sum(vx, vy, vc, vn);
        sums = {sum};
    }
    void reference(Problem &p) const override {
        p("dx") = Array(p("dx").shape);
        Array &abs_sum = p.abs_sum["dx"] = p("dx");
        each(p, [&](int64_t n, int64_t c, int64_t a, int64_t b, int64_t top, int64_t bottom,
                    int64_t left, int64_t right) {
            const double window_max = p("y")(n, c, a, b);
            for (int64_t i = top; i < bottom; i++) {
                for (int64_t j = left; j < right; j++) {
                    const double v = p("x")(n, c, i, j);
                    if (v != window_max && !std::isnan(v)) continue;
                    p("dx")(n, c, i, j) += p("dy")(n, c, a, b);
                    abs_sum(n, c, i, j) += std::fabs(p("dy")(n, c, a, b));
                    return;
                }
            }
        });
    }
};

}  // namespace

HALYARD_OPS {
    ops.add<AdaptiveAvg>();
    ops.add<AdaptiveAvgDx>();
    ops.add<AdaptiveMax>();
    ops.add<AdaptiveMaxDx>();
}

}  // namespace halyard
