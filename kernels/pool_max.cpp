// The largest element of each window, where it is, and the gradient.
#include "kernels/pool.h"

namespace halyard {
namespace {

using Halide::clamp;
using Halide::Expr;
using Halide::likely;

// Positions beyond the border are those of the nearest line of the image: a maximum may count a value twice.
struct MaxBase : Pool {
    MaxBase(const std::string &name, const std::string &signature, const std::string &mindspore) : Pool(name, signature, mindspore) {
        flag("ceil_mode", false);
    }
    Expr column(const Expr &ox, const Expr &k) const { return clamp(likely(ox * sw + k - pl), 0, size("w") - 1); }
    Expr row(const Expr &oy, const Expr &k) const { return clamp(likely(oy * sh + k - pt), 0, size("h") - 1); }
    static Expr larger(const Expr &a, const Expr &b) { return select(b > a || b != b, b, a); }  // NaN wins
};

struct MaxPool2d : MaxBase {
    MaxPool2d() : MaxBase("max_pool2d", "x[n,c,h,w] -> y[n,c,oh,ow]", "MaxPool2d") {
        doc = "y = largest x of each window; NaN if there is one; padding never wins";
        contract = {Contract::elementwise, 0};
        variants.insert(variants.begin(), thirds_of("y"));
    }
    Func x = input("x"), y = output("y"), best{"best"};
    RDom k;

    void algorithm() override {
        if (thirds()) {
            y(vx, vy, vc, vn) = by_thirds(x, math::lowest(), larger);
            return;
        }
        if (halves()) {
            auto at = [&](int b, int a) { return x(vx * 2 + b, vy * 2 + a, vc, vn); };
            y(vx, vy, vc, vn) = larger(larger(at(0, 0), at(1, 0)), larger(at(0, 1), at(1, 1)));
            return;
        }
        k = RDom(0, kw, 0, kh);
        best(vx, vy, vc, vn) = math::lowest();
        best(vx, vy, vc, vn) = larger(best(vx, vy, vc, vn), x(column(vx, k.x), row(vy, k.y), vc, vn));
        y(vx, vy, vc, vn) = best(vx, vy, vc, vn);
        scans = {best};
    }
    void reference(Problem &p) const override {
        each(p, [&](int64_t n, int64_t c, int64_t a, int64_t b, const Window &w) {
            double most = -INFINITY;
            for (int64_t i = w.top; i < w.bottom; i++)
                for (int64_t j = w.left; j < w.right; j++) {
                    const double v = p("x")(n, c, i, j);
                    if (v > most || std::isnan(v)) most = v;
                }
            p("y")(n, c, a, b) = most;
        });
    }
};

// All of a window's gradient goes to its first maximum, row by row. Gathered: each dx adds, in a fixed order, the windows
// whose winner it is.
struct MaxPool2dDx : MaxBase {
    MaxPool2dDx() : MaxBase("max_pool2d_dx", "x[n,c,h,w] y[n,c,oh,ow] dy[n,c,oh,ow] -> dx[n,c,h,w]", "") {
        internal = true;
        contract = {Contract::normwise, 8};
        variants.insert(variants.begin(), {"tiles", variants[0].when + " w==2*ow h==2*oh ow>=4"});
        for (const std::string size : {"n=2 c=3 h=10 w=10", "n=1 c=2 h=6 w=28", "n=3 c=1 h=4 w=34"}) samples.push_back(size + " kernel_size=2,2 stride=2,2");
    }
    Func x = input("x"), y = input("y"), dy = input("dy"), dx = output("dx"), winner{"winner"}, first{"first"}, sum{"sum"};
    RDom k, j;
    bool tiles() const { return variant == "tiles"; }

    // Windows cover the image exactly: a vector of windows gives two interleaved vectors on each of two lines.
    void schedule(const Cpu &cpu) override {
        if (!tiles()) return Pool::schedule(cpu);
        Func last = store();
        Var plane("plane"), task("task"), window("window"), px("px"), line("line"), py("py"), vec("vec"), lane("lane");
        auto image = last.output_buffer();
        for (int d : {0, 1}) image.dim(d).set_min(0);  // so that all four elements of a window share its winner
        const Expr width = image.dim(0).extent();
        last.fuse(var(2), var(3), plane)
            .split(plane, task, plane, max(1, task_elements / max(1, width * image.dim(1).extent())), Tail::GuardWithIf)
            .parallel(task);
        last.split(var(0), window, px, 2, Tail::RoundUp).split(var(1), line, py, 2, Tail::RoundUp).reorder(px, py, window, line, plane).unroll(px).unroll(py);
        Expr dense = image.dim(0).stride() == 1;
        for (auto &m : memory) dense = dense && m.dim(0).stride() == 1;
        for (int narrow = cpu.lanes; narrow > 2; narrow /= 2)
            last.specialize(dense && width >= 2 * narrow).split(window, vec, lane, narrow, Tail::ShiftInwards).reorder(lane, px, py, vec).vectorize(lane);
    }

    void algorithm() override {
        const int none = 0x7fffffff;
        const Expr w = size("w"), ow = size("ow"), oh = size("oh");
        // y is larger() of the window: NaN if any of its x is.
        auto same = [](const Expr &in, const Expr &largest) { return in == largest || in != in; };
        if (halves() || tiles()) {
            auto is = [&](int b, int a) { return same(x(vx * 2 + b, vy * 2 + a, vc, vn), y(vx, vy, vc, vn)); };
            winner(vx, vy, vc, vn) = select(is(0, 0), 0, is(1, 0), 1, is(0, 1), 2, 3);
            if (tiles()) {
                dx(vx, vy, vc, vn) = select(winner(vx / 2, vy / 2, vc, vn) == vy % 2 * 2 + vx % 2, dy(vx / 2, vy / 2, vc, vn), 0_r);
                return;
            }
            const Expr ox = vx / 2, oy = vy / 2;
            const Expr cx = min(ox, ow - 1), cy = min(oy, oh - 1);
            dx(vx, vy, vc, vn) = select(ox < ow && oy < oh && winner(cx, cy, vc, vn) == vy % 2 * 2 + vx % 2, dy(cx, cy, vc, vn), 0_r);
            per_plane = winner;
            return;
        }
        k = RDom(0, kw, 0, kh), j = RDom(0, (kw + sw - 1) / sw, 0, (kh + sh - 1) / sh);
        const Expr c = column(vx, k.x), r = row(vy, k.y), mx = min(vx, ow - 1), my = min(vy, oh - 1);
        first(vx, vy, vc, vn) = none;
        first(vx, vy, vc, vn) = min(first(vx, vy, vc, vn), select(same(x(c, r, vc, vn), y(mx, my, vc, vn)), r * w + c, none));
        winner(vx, vy, vc, vn) = first(vx, vy, vc, vn);
        const Expr ox = (vx + pl) / sw - j.x, oy = (vy + pt) / sh - j.y;
        const Expr cx = clamp(ox, 0, ow - 1), cy = clamp(oy, 0, oh - 1);
        sum(vx, vy, vc, vn) += select(ox == cx && oy == cy && winner(cx, cy, vc, vn) == vy * w + vx, dy(cx, cy, vc, vn), 0_r);
        dx(vx, vy, vc, vn) = sum(vx, vy, vc, vn);
        scans = {sum}, plane_scans = {first}, per_plane = winner;
    }
    void reference(Problem &p) const override {
        std::fill(p("dx").v.begin(), p("dx").v.end(), 0.0);
        each(p, [&](int64_t n, int64_t c, int64_t a, int64_t b, const Window &w) {
            const double most = p("y")(n, c, a, b);
            for (int64_t i = w.top; i < w.bottom; i++)
                for (int64_t q = w.left; q < w.right; q++) {
                    const double v = p("x")(n, c, i, q);
                    if (v != most && !(std::isnan(v) && std::isnan(most))) continue;
                    p("dx")(n, c, i, q) += p("dy")(n, c, a, b);
                    return;
                }
        });
    }
};

// Where the first maximum of each window is, row by row.
struct MaxPool2dIndices : MaxBase {
    MaxPool2dIndices() : MaxBase("max_pool2d_indices", "x[n,c,h,w] -> indices:i32[n,c,oh,ow]", "") {
        internal = true;
        variants = {{"", ""}};
    }
    Func x = input("x"), indices = output("indices"), best{"best"};
    RDom k;

    void algorithm() override {
        k = RDom(0, kw, 0, kh);
        const auto place = [&](const Expr &b, const Expr &a) { return row(vy, a) * size("w") + column(vx, b); };
        const auto in = [&](const Expr &b, const Expr &a) { return x(column(vx, b), row(vy, a), vc, vn); };
        best(vx, vy, vc, vn) = Halide::Tuple(in(0, 0), place(0, 0));
        const Expr most = best(vx, vy, vc, vn)[0], at = best(vx, vy, vc, vn)[1], next = in(k.x, k.y);
        const Expr larger = next > most || (next != next && most == most);  // the first NaN wins
        best(vx, vy, vc, vn) = Halide::Tuple(select(larger, next, most), select(larger, place(k.x, k.y), at));
        indices(vx, vy, vc, vn) = best(vx, vy, vc, vn)[1];
        scans = {best};
    }
    void reference(Problem &p) const override {
        each(p, [&](int64_t n, int64_t c, int64_t a, int64_t b, const Window &w) {
            int64_t at = w.top * p["w"] + w.left;
            for (int64_t i = w.top; i < w.bottom; i++)
                for (int64_t j = w.left; j < w.right; j++) {
                    const double v = p("x")(n, c, i, j), most = p("x")(n, c, at / p["w"], at % p["w"]);
                    if (v > most || (std::isnan(v) && !std::isnan(most))) at = i * p["w"] + j;
                }
            p("indices")(n, c, a, b) = (double)at;
        });
    }
};

}  // namespace

HALYARD_OPS {
    ops.add<MaxPool2d>();
    ops.add<MaxPool2dDx>();
    ops.add<MaxPool2dIndices>();
}

}  // namespace halyard
