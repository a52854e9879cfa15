// The largest element of each window, where it is, and the gradient.
#include "kernels/pooling/pool.h"

namespace halyard {
namespace {

using Halide::clamp;
using Halide::Expr;
using Halide::likely;

// Positions beyond the border are those of the nearest line of the image: a maximum may count a
// value twice.
struct MaxBase : Pool {
    MaxBase(const std::string &name, const std::string &signature, const std::string &mindspore)
        : Pool(name, signature, mindspore) {
        flag("ceil_mode", false);
        for (const std::string d : {"h", "w"})
            cut(d, d == "h" ? "top" : "left");
        samples.push_back("n=1 c=2 h=3 w=4 kernel_size=70000,5 stride=1,100000 pad_mode=same");
        samples.push_back(
            "n=1 c=2 h=3 w=4 kernel_size=9,7 stride=3,2 pad_mode=pad padding=8,8,6,6");
    }
    // Taps that lie outside of the map in every window never win. Kernels run over all taps, so
    // they don't get those of them that lie before the map, `over`, or behind it. Variants of 2 or
    // 3 taps count on having them.
    void cut(const std::string &d, const std::string &before) {
        const std::string kernel = "kernel_" + d;
        const std::string padded = d + "+border_" + before + "-over_" + d;
        let("over_" + d,
            kernel + ">3?max(border_" + before + "-max(o" + d + "-1,0)*stride_" + d + ",0):0");
        for (ScalarSpec &s : scalars) {
            if (s.name == "pad_" + before) s.value = "border_" + before + "-over_" + d;
            if (s.name == kernel)
                s.value = kernel + ">3?min(" + kernel + "-over_" + d + "," + padded + "):" + kernel;
            if (s.name == "stride_" + d) s.value = of_windows(d, "max(" + padded + ",3)");
        }
    }
    Expr column(const Expr &ox, const Expr &k) const {
        return clamp(likely(ox * sw + k - pl), 0, size("w") - 1);
    }
    Expr row(const Expr &oy, const Expr &k) const {
        return clamp(likely(oy * sh + k - pt), 0, size("h") - 1);
    }
    // NaN wins
    static Expr larger(const Expr &a, const Expr &b) { return select(b > a || b != b, b, a); }
};

struct MaxPool2d : MaxBase {
    MaxPool2d() : MaxBase("max_pool2d", "x[n,c,h,w] -> y[n,c,oh,ow]", "MaxPool2d") {
        doc = "y = largest x of each window; NaN if there is one; padding never wins";
        contract = {Contract::elementwise, 0};
        variants.insert(variants.begin(), thirds_of("y"));
    }
    Func x = input("x");
    Func y = output("y");
    Func best{"best"};
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
        best(vx, vy, vc, vn) = larger(best(vx, vy, vc, vn),
                                      x(column(vx, k.x), row(vy, k.y), vc, vn));
        y(vx, vy, vc, vn) = best(vx, vy, vc, vn);
        scans = {best};
    }
    void schedule(const Ascend &npu) override { pooled(npu, ascend::Pooled::max); }
    void reference(Problem &p) const override {
        each(p, [&](int64_t n, int64_t c, int64_t a, int64_t b, const Window &w) {
            double most = -INFINITY;
            for (int64_t i = w.top; i < w.bottom; i++) {
                for (int64_t j = w.left; j < w.right; j++) {
                    const double v = p("x")(n, c, i, j);
                    if (v > most || std::isnan(v)) most = v;
                }
            }
            p("y")(n, c, a, b) = most;
        });
    }
};

// All of a window's gradient goes to its first maximum, row by row. Gathered: each dx adds, in a
// fixed order, the windows whose winner it is. Tap (i, j) of a window is x(ox * sw + i, oy * sh +
// j) of the padded map.
struct MaxPool2dDx : MaxBase {
    MaxPool2dDx()
        : MaxBase("max_pool2d_dx", "x[n,c,h,w] y[n,c,oh,ow] dy[n,c,oh,ow] -> dx[n,c,h,w]", "") {
        internal = true;
        contract = {Contract::normwise, 8};
        variants.insert(variants.begin(),
                        {{"tiles", variants[0].when + " w==2*ow h==2*oh ow>=4"}, thirds_of("dx")});
        for (const std::string size : {"n=2 c=3 h=10 w=10", "n=1 c=2 h=6 w=28", "n=3 c=1 h=4 w=34"})
            samples.push_back(size + " kernel_size=2,2 stride=2,2");
        bench.push_back(
            "n=32 c=64 h=56 w=56 kernel_size=3,3 stride=2,2 pad_mode=pad padding=1,1,1,1");
    }
    Func x = input("x"), y = input("y"), dy = input("dy");
    Func dx = output("dx");
    Func winner{"winner"}, first{"first"}, sum{"sum"}, padded{"padded"};
    PaddedMap largest, given;
    Var vp{"phase"};
    RDom k, j, whole;
    bool tiles() const { return variant == "tiles"; }

    // Windows cover the image exactly: a vector of windows gives two interleaved vectors on each of
    // two lines.
    void tile(const Cpu &cpu) {
        Func last = store();
        Var plane("plane"), task("task"), window("window"), px("px"), line("line"), py("py"),
            vec("vec"), lane("lane");
        auto image = last.output_buffer();
        // so that all four elements of a window share its winner
        for (int d : {0, 1})
            image.dim(d).set_min(0);
        const Expr width = image.dim(0).extent();
        last.fuse(var(2), var(3), plane)
            .split(plane, task, plane,
                   max(1, task_elements / max(1, width * image.dim(1).extent())), Tail::GuardWithIf)
            .parallel(task);
        last.split(var(0), window, px, 2, Tail::RoundUp)
            .split(var(1), line, py, 2, Tail::RoundUp)
            .reorder(px, py, window, line, plane)
            .unroll(px)
            .unroll(py);
        Expr dense = image.dim(0).stride() == 1;
        for (auto &m : memory)
            dense = dense && m.dim(0).stride() == 1;
        for (int narrow = cpu.lanes; narrow > 2; narrow /= 2) {
            last.specialize(dense && width >= 2 * narrow)
                .split(window, vec, lane, narrow, Tail::ShiftInwards)
                .reorder(lane, px, py, vec)
                .vectorize(lane);
        }
    }
    // A plane's maps and winners lie in cache; dx is made there, padding included, and copied from
    // it. One thread, AVX-512 on an AMD EPYC Zen 5: 32 x 64 maps of 56 x 56, 3 x 3 with stride 2,
    // padded by 1, 4.9 ms, 10.7 without thirds; PyTorch, which is given the winners, 6.6 ms,
    // and 1.9 where its result's pages were used before. 3 x 3 with stride 1, 8 x 64 maps of 56 x
    // 56: 3.7 ms, 12 where each element looks its windows up.
    void schedule(const Cpu &cpu) override {
        if (tiles()) return tile(cpu);
        if (halves()) return Pool::schedule(cpu);
        Func last = store();
        const int v = std::max(4, cpu.lanes);  // not 2, as in Pool
        Var plane("plane"), task("task"), vec("vec"), lane("lane"), pair("pair"), px("px"),
            py("py");
        RVar xo("xo"), xi("xi");
        const auto image = last.output_buffer();
        const Expr width = image.dim(0).extent();
        last.fuse(var(2), var(3), plane)
            .split(plane, task, plane,
                   max(1, task_elements / max(1, width * image.dim(1).extent())), Tail::GuardWithIf)
            .parallel(task)
            .split(var(0), vec, lane, v, Tail::GuardWithIf)
            .vectorize(lane);
        for (const PaddedMap &m : {map, largest, given})
            m.compute_at(last, plane, v);
        winner.compute_at(last, plane).split(vx, vec, lane, v, Tail::RoundUp).vectorize(lane);
        padded.compute_at(last, plane);
        if (thirds()) {
            padded.align_bounds(vx, 2)
                .align_bounds(vy, 2)
                .split(vx, pair, px, 2, Tail::RoundUp)
                .split(pair, vec, lane, v, Tail::RoundUp);
            padded.split(vy, vy, py, 2, Tail::RoundUp)
                .reorder(lane, px, py, vec, vy)
                .vectorize(lane)
                .unroll(px)
                .unroll(py);
        } else {
            first.compute_at(winner, vec).bound_extent(vx, v).vectorize(vx);
            first.update().vectorize(vx);
            sum.compute_at(padded, xo).bound_extent(vx, v).vectorize(vx);
            sum.update().reorder(vx, j.x, j.y).vectorize(vx);
            padded.update()
                .allow_race_conditions()
                .split(whole.x, xo, xi, v, Tail::GuardWithIf)
                .reorder(xi, xo, whole.y)
                .vectorize(xi);
            for (int s : {1, 2})
                last.specialize(sw == s);
        }
        Expr dense = image.dim(0).stride() == 1;
        for (auto &m : memory)
            dense = dense && m.dim(0).stride() == 1;
        last.specialize(dense);
    }

    void algorithm() override {
        // y is larger() of the window: NaN if any of its x is.
        auto same = [](const Expr &in, const Expr &largest) { return in == largest || in != in; };
        const Expr ow = size("ow"), oh = size("oh");
        if (halves() || tiles()) {
            auto is = [&](int b, int a) {
                return same(x(vx * 2 + b, vy * 2 + a, vc, vn), y(vx, vy, vc, vn));
            };
            winner(vx, vy, vc, vn) = select(is(0, 0), 0, is(1, 0), 1, is(0, 1), 2, 3);
            if (tiles()) {
                dx(vx, vy, vc, vn) = select(winner(vx / 2, vy / 2, vc, vn) == vy % 2 * 2 + vx % 2,
                                            dy(vx / 2, vy / 2, vc, vn), 0_r);
                return;
            }
            const Expr ox = vx / 2;
            const Expr oy = vy / 2;
            const Expr cx = min(ox, ow - 1);
            const Expr cy = min(oy, oh - 1);
            dx(vx, vy, vc,
               vn) = select(ox < ow && oy < oh && winner(cx, cy, vc, vn) == vy % 2 * 2 + vx % 2,
                            dy(cx, cy, vc, vn), 0_r);
            per_plane = winner;
            return;
        }
        map = PaddedMap("map", x, {size("w"), pl}, {size("h"), pt}, math::lowest());
        largest = PaddedMap("largest", y, {ow, 0}, {oh, 0});
        given = PaddedMap("given", dy, {ow, 0}, {oh, 0});  // 0 from windows that aren't
        thirds() ? unrolled(same) : looped(same);
        dx(vx, vy, vc, vn) = padded(vx + pl, vy + pt, vc, vn);
    }
    static constexpr int none = 0x7fffffff;
    // Padding equals a window's maximum only where all of its x are the lowest: the first of them
    // wins.
    Expr unpadded(const Expr &place, const Expr &pitch, const Expr &across,
                  const Expr &down) const {
        return select(largest(vx, vy, vc, vn) == math::lowest(),
                      max(pt - vy * down, 0) * pitch + max(pl - vx * across, 0), place);
    }
    // dy of window (ox, oy) where tap (i, j) is its winner.
    Expr won(const Expr &ox, const Expr &oy, const Expr &place) const {
        return select(winner(ox, oy, vc, vn) == place, given(ox, oy, vc, vn), 0_r);
    }

    // 3 x 3 with stride 2: columns 2 a and 2 a + 1 of the padded map are covered by windows a and a
    // - 1, lines likewise.
    template<class Same> void unrolled(const Same &same) {
        constexpr int pitch = 4;
        Expr place = none;
        for (int b = 3; b-- > 0;) {
            for (int a = 3; a-- > 0;) {
                place = select(same(map(vx * 2 + a, vy * 2 + b, vc, vn), largest(vx, vy, vc, vn)),
                               b * pitch + a, place);
            }
        }
        winner(vx, vy, vc, vn) = unpadded(place, pitch, 2, 2);
        const auto tap = [&](int a, int b) {
            return won(vx / 2 - a / 2, vy / 2 - b / 2, b * pitch + a);
        };
        const auto column = [&](int a) {
            return select(vy % 2 == 1, tap(a, 1), tap(a, 0) + tap(a, 2));
        };
        padded(vx, vy, vc, vn) = select(vx % 2 == 1, column(1), column(0) + column(2));
    }
    // Column a sw + p of the padded map is covered by windows a, a - 1, ..
    template<class Same> void looped(const Same &same) {
        const Expr across = (kw + sw - 1) / sw;
        const Expr pitch = across * sw;
        k = RDom(0, kw, 0, kh);
        j = RDom(0, across, 0, (kh + sh - 1) / sh);
        whole = RDom(0, (size("w") + pl + sw - 1) / sw, 0, sw);
        const Expr is = same(map(vx * sw + k.x, vy * sh + k.y, vc, vn), largest(vx, vy, vc, vn));
        first(vx, vy, vc, vn) = none;
        first(vx, vy, vc, vn) = min(first(vx, vy, vc, vn), select(is, k.y * pitch + k.x, none));
        winner(vx, vy, vc, vn) = unpadded(first(vx, vy, vc, vn), pitch, sw, sh);
        sum(vx, vp, vy, vc, vn) += won(vx - j.x, vy / sh - j.y,
                                       (vy % sh + j.y * sh) * pitch + vp + j.x * sw);
        padded(vx, vy, vc, vn) = 0_r;
        padded(whole.x * sw + whole.y, vy, vc, vn) = sum(whole.x, whole.y, vy, vc, vn);
    }
    void schedule(const Ascend &npu) override { pooled(npu, ascend::Pooled::max_dx); }
    void reference(Problem &p) const override {
        std::fill(p("dx").v.begin(), p("dx").v.end(), 0.0);
        each(p, [&](int64_t n, int64_t c, int64_t a, int64_t b, const Window &w) {
            const double most = p("y")(n, c, a, b);
            for (int64_t i = w.top; i < w.bottom; i++) {
                for (int64_t q = w.left; q < w.right; q++) {
                    const double v = p("x")(n, c, i, q);
                    if (v != most && !(std::isnan(v) && std::isnan(most))) continue;
                    p("dx")(n, c, i, q) += p("dy")(n, c, a, b);
                    return;
                }
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
    Func x = input("x");
    Func indices = output("indices");
    Func best{"best"};
    RDom k;

    void algorithm() override {
        k = RDom(0, kw, 0, kh);
        const auto place = [&](const Expr &b, const Expr &a) {
            return row(vy, a) * size("w") + column(vx, b);
        };
        const auto in = [&](const Expr &b, const Expr &a) {
            return x(column(vx, b), row(vy, a), vc, vn);
        };
        best(vx, vy, vc, vn) = Halide::Tuple(in(0, 0), place(0, 0));
        const Expr most = best(vx, vy, vc, vn)[0];
        const Expr at = best(vx, vy, vc, vn)[1];
        const Expr next = in(k.x, k.y);
        const Expr larger = next > most || (next != next && most == most);  // the first NaN wins
        best(vx, vy, vc, vn) = Halide::Tuple(select(larger, next, most),
                                             select(larger, place(k.x, k.y), at));
        indices(vx, vy, vc, vn) = best(vx, vy, vc, vn)[1];
        scans = {best};
    }
    void reference(Problem &p) const override {
        each(p, [&](int64_t n, int64_t c, int64_t a, int64_t b, const Window &w) {
            int64_t at = w.top * p["w"] + w.left;
            for (int64_t i = w.top; i < w.bottom; i++) {
                for (int64_t j = w.left; j < w.right; j++) {
                    const double v = p("x")(n, c, i, j);
                    const double most = p("x")(n, c, at / p["w"], at % p["w"]);
                    if (v > most || (std::isnan(v) && !std::isnan(most))) at = i * p["w"] + j;
                }
            }
            p("indices")(n, c, a, b) = double(at);
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
