// Pooling over windows of two spatial dimensions.
//
// Sizes are MindSpore's: `valid` floor((h - k) / s) + 1; `same` ceil(h / s), padded by max((oh-1) s + k - h, 0), the odd line
// at the bottom; `pad` by `padding` = top, bottom, left, right. With ceil_mode the last window of `valid` and `pad` may be cut off, as
// in PyTorch, if it begins before the padding at the end. Pads are smaller than the kernel, so no window is empty.
#include <cmath>

#include "dsl/op.h"
#include "kernels/padded_map.h"

namespace halyard {
namespace {

using Halide::clamp;
using Halide::Expr;
using Halide::likely;

constexpr int task_elements = 16384;

struct Pool : Op {
    Pool(const std::string &name, const std::string &signature, const std::string &mindspore) : Op(name, signature) {
        alias = mindspore;
        any_strides = true;
        ints("kernel_size", "1,1", {"kernel_h", "kernel_w"});
        ints("stride", "1,1", {"stride_h", "stride_w"});
        choice("pad_mode", {"valid", "same", "pad"});
        ints("padding", "0,0,0,0", {"top", "bottom", "left", "right"});
        choice("data_format", {"NCHW", "NHWC"});
        for (const std::string d : {"h", "w"}) {
            const std::string k = "kernel_" + d, s = "max(1,stride_" + d + ")", o = "o" + d, before = d == "h" ? "top" : "left",
                              after = d == "h" ? "bottom" : "right";
            const std::string whole = "max(0,(cdiv(" + d + "," + s + ")-1)*" + s + "+" + k + "-" + d + ")";
            let("pads_" + d, "pad_mode==same?" + whole + ":pad_mode==pad?" + before + "+" + after + ":0");
            let("full_" + d, "(" + d + "+pads_" + d + "-" + k + "+ceil_mode*(" + s + "-1))/" + s + "+1");
            const std::string beyond = "((full_" + d + "-1)*" + s + ">=" + d + "+(pad_mode==pad?" + before + ":0))";
            let(o, "pad_mode==same?cdiv(" + d + "," + s + "):" + d + "+pads_" + d + "<" + k + "?0:full_" + d + "-" + beyond);
            conditions.push_back(k + ">=1");
            conditions.push_back("stride_" + d + ">=1");
            conditions.push_back(d + "+pads_" + d + ">=" + k);
            conditions.push_back(before + ">=0");
            conditions.push_back(after + ">=0");
            conditions.push_back("pad_mode!=pad||max(" + before + "," + after + ")<" + k);
        }
        conditions.push_back("pad_mode==pad||top+bottom+left+right==0");
        const std::string lenet = "kernel_size=2,2 stride=2,2", stem = "kernel_size=3,3 stride=2,2 pad_mode=same";
        variants = {{"halves", "kernel_h==2 kernel_w==2 stride_h==2 stride_w==2 pads_h==0 pads_w==0 2*oh<=h 2*ow<=w"}, {"", ""}};
        samples = {"n=1 c=1 h=1 w=1",
                   "n=2 c=3 h=6 w=6 " + lenet,
                   "n=1 c=2 h=7 w=33 " + lenet,
                   "n=3 c=1 h=5 w=67 " + lenet,
                   "n=1 c=2 h=7 w=5 kernel_size=2,2 stride=2,2 pad_mode=same",
                   "n=2 c=3 h=8 w=8 " + stem,
                   "n=1 c=17 h=7 w=9 " + stem,
                   "n=1 c=2 h=7 w=38 kernel_size=2,3 stride=1,2",
                   "n=1 c=2 h=8 w=31 kernel_size=3,3 stride=2,2 pad_mode=pad padding=1,1,1,1",
                   "n=1 c=1 h=5 w=5 kernel_size=4,4 stride=5,3 pad_mode=pad padding=3,0,1,2",
                   "n=1 c=2 h=7 w=6 kernel_size=2,2 stride=2,2 ceil_mode=1",
                   "n=2 c=1 h=5 w=6 kernel_size=3,2 stride=2,3 pad_mode=pad padding=1,1,1,0 ceil_mode=1"};
        bench = {"n=32 c=6 h=28 w=28 " + lenet, "n=32 c=16 h=10 w=10 " + lenet, "n=4 c=64 h=112 w=112 " + stem};
    }
    Var vx{"x"}, vy{"y"}, vc{"c"}, vn{"n"};
    Expr kh = derived("kernel_h", "kernel_h"), kw = derived("kernel_w", "kernel_w"), sh = derived("stride_h", "stride_h"), sw = derived("stride_w", "stride_w");
    Expr pt = derived("pad_top", "pad_mode==pad?top:pads_h/2"), pl = derived("pad_left", "pad_mode==pad?left:pads_w/2");

    bool halves() const { return variant == "halves"; }
    bool thirds() const { return variant == "thirds"; }

    // 3 x 3 with stride 2: a plane is padded in L1, its columns are reduced to one row, and that to every other element.
    Func down{"down"};
    PaddedMap map;
    Variant thirds_of(const std::string &out) const { return {"thirds", "kernel_h==3 kernel_w==3 stride_h==2 stride_w==2 x_s0==1 " + out + "_s0==1"}; }
    template<class Combine> Expr by_thirds(const Func &x, const Expr &around, const Combine &combine) {
        map = PaddedMap("map", x, {size("w"), pl}, {size("h"), pt}, around);
        const auto line = [&](int j) { return map(vx, vy * 2 + j, vc, vn); };
        down(vx, vy, vc, vn) = combine(combine(line(0), line(1)), line(2));
        const auto at = [&](int i) { return down(vx * 2 + i, vy, vc, vn); };
        return combine(combine(at(0), at(1)), at(2));
    }
    // The largest of 32 x 64 maps of 56 x 56, padded by 1, one thread, AVX-512 on an AMD EPYC Zen 5: 2.5 ms; 4.5 without this variant.
    void third_tiles(const Cpu &cpu) {
        Func last = store();
        const int v = std::max(4, cpu.lanes);  // not 2, as below
        Var plane("plane"), task("task"), vec("vec"), lane("lane");
        const auto image = last.output_buffer();
        last.fuse(var(2), var(3), plane)
            .split(plane, task, plane, max(1, task_elements / max(1, image.dim(0).extent() * image.dim(1).extent())), Tail::GuardWithIf);
        last.parallel(task).split(var(0), vec, lane, v, Tail::GuardWithIf).vectorize(lane);
        map.compute_at(last, plane, v);
        down.compute_at(last, var(1)).vectorize(vx, v, Tail::RoundUp);
        last.specialize(image.dim(0).stride() == 1 && memory[0].dim(0).stride() == 1);
    }

    // A task is some planes of one channel each; vectors go along w, which channels-last tensors step through with a stride.
    void schedule(const Cpu &cpu) override {
        if (thirds()) return third_tiles(cpu);
        Func last = store();
        const int v = std::max(4, cpu.lanes);  // of two lanes [a, b] Halide 21 makes the ramp a + (b - a) * i: of NaN and b it makes two NaN
        Var plane("plane"), task("task"), vec("vec"), lane("lane");
        const auto image = last.output_buffer();
        const Expr extent = image.dim(0).extent() * image.dim(1).extent();
        last.fuse(var(2), var(3), plane).split(plane, task, plane, max(1, task_elements / max(1, extent)), Tail::GuardWithIf).parallel(task);
        // Whole vectors, overlapping at the end of a row, where the row has one; narrower ones in small images.
        Expr dense = image.dim(0).stride() == 1;
        for (auto &m : memory) dense = dense && m.dim(0).stride() == 1;
        if (halves()) {
            for (int narrow = v; narrow > 2; narrow /= 2)
                last.specialize(dense && image.dim(0).extent() >= narrow).split(var(0), vec, lane, narrow, Tail::ShiftInwards).vectorize(lane);
        }
        last.split(var(0), vec, lane, v, Tail::GuardWithIf).vectorize(lane);
        for (Func &f : scans) {
            f.compute_at(last, vec).bound_extent(f.args()[0], v).vectorize(f.args()[0]);
            f.update().vectorize(f.args()[0]);
        }
        if (per_plane.defined()) {
            const Var px = per_plane.args()[0];
            per_plane.compute_at(last, plane);
            if (halves()) {
                const Expr columns = memory[1].dim(0).extent();
                for (int narrow = v; narrow > 2; narrow /= 2)
                    per_plane.specialize(columns >= narrow && memory[0].dim(0).stride() == 1 && memory[1].dim(0).stride() == 1)
                        .split(px, vec, lane, narrow, Tail::ShiftInwards)
                        .vectorize(lane);
            }
            per_plane.split(px, vec, lane, v, Tail::GuardWithIf).vectorize(lane);
            for (Func &f : plane_scans) {
                f.compute_at(per_plane, vec).bound_extent(f.args()[0], v).vectorize(f.args()[0]);
                f.update().vectorize(f.args()[0]);
            }
        }
        if (halves()) return;
        for (int s : {1, 2}) last.specialize(dense && sw == s);
        last.specialize(dense);
    }
    std::vector<Func> scans, plane_scans;  // windows of the output; of per_plane
    Func per_plane;                        // what a whole plane of the output reads

    // [top, bottom) x [left, right), cut to the image
    struct Window {
        int64_t top, bottom, left, right;
    };
    static Window window(Problem &p, int64_t a, int64_t b) {
        const int64_t y = a * p["stride_h"] - p["pad_top"], x = b * p["stride_w"] - p["pad_left"];
        return {std::max<int64_t>(y, 0), std::min(y + p["kernel_h"], p["h"]), std::max<int64_t>(x, 0), std::min(x + p["kernel_w"], p["w"])};
    }
    // value(n, c, oh, ow, window) for every output
    template<class F> static void each(Problem &p, F value) {
        for (int64_t n = 0; n < p["n"]; n++)
            for (int64_t c = 0; c < p["c"]; c++)
                for (int64_t a = 0; a < p["oh"]; a++)
                    for (int64_t b = 0; b < p["ow"]; b++) value(n, c, a, b, window(p, a, b));
    }
};

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

// Padding is 0. Its places count in the divisor only under `pad` with count_include_pad, those beyond it never.
struct AvgBase : Pool {
    AvgBase(const std::string &name, const std::string &signature, const std::string &mindspore) : Pool(name, signature, mindspore) {
        flag("count_include_pad", true);
        flag("ceil_mode", false);
        attr("divisor_override", 0);
        conditions.push_back("divisor_override>=0");
        variants[0].when += " divisor_override==0";
        samples.push_back("n=1 c=2 h=8 w=9 kernel_size=3,3 stride=2,2 pad_mode=pad padding=1,1,1,1 count_include_pad=0");
        samples.push_back("n=1 c=2 h=5 w=6 kernel_size=3,2 stride=2,3 pad_mode=pad padding=1,1,1,0 ceil_mode=1 count_include_pad=0");
        samples.push_back("n=1 c=3 h=6 w=6 kernel_size=2,2 stride=2,2 divisor_override=3");
        contract = {Contract::normwise, 8};
    }
    Expr all = derived("count_all", "pad_mode==pad&&count_include_pad"), divisor = derived("divisor_override", "divisor_override");
    Expr pb = derived("pad_bottom", "pad_mode==pad?bottom:0"), pr = derived("pad_right", "pad_mode==pad?right:0");

    Expr count(const Expr &ox, const Expr &oy) const {
        const auto lines = [&](const Expr &from, const Expr &kernel, const Expr &end, const Expr &after) {
            return select(all != 0, min(kernel, end + after - from), min(from + kernel, end) - max(from, 0));
        };
        const Expr places = lines(ox * sw - pl, kw, size("w"), pr) * lines(oy * sh - pt, kh, size("h"), pb);
        return math::real(select(divisor != 0, divisor, max(places, 1)));
    }
    static double count(Problem &p, int64_t a, int64_t b) {
        if (p["divisor_override"]) return (double)p["divisor_override"];
        const Window w = window(p, a, b);
        if (!p["count_all"]) return (double)((w.bottom - w.top) * (w.right - w.left));
        const int64_t top = a * p["stride_h"] - p["pad_top"], left = b * p["stride_w"] - p["pad_left"];
        return (double)((std::min(top + p["kernel_h"], p["h"] + p["bottom"]) - top) * (std::min(left + p["kernel_w"], p["w"] + p["right"]) - left));
    }
};

struct AvgPool2d : AvgBase {
    AvgPool2d() : AvgBase("avg_pool2d", "x[n,c,h,w] -> y[n,c,oh,ow]", "AvgPool2d") {
        doc = "y = sum of x over each window / its places, or / divisor_override where that isn't 0";
        variants.insert(variants.begin(), thirds_of("y"));
    }
    Func x = input("x"), y = output("y"), sum{"sum"};
    RDom k;

    void algorithm() override {
        if (thirds()) {
            y(vx, vy, vc, vn) = by_thirds(x, 0_r, [](const Expr &p, const Expr &q) -> Expr { return p + q; }) / count(vx, vy);
            return;
        }
        if (halves()) {
            auto at = [&](int b, int a) { return x(vx * 2 + b, vy * 2 + a, vc, vn); };
            y(vx, vy, vc, vn) = ((at(0, 0) + at(1, 0)) + (at(0, 1) + at(1, 1))) * 0.25_r;
            return;
        }
        k = RDom(0, kw, 0, kh);
        const Expr c = vx * sw + k.x - pl, r = vy * sh + k.y - pt, cc = clamp(likely(c), 0, size("w") - 1), cr = clamp(likely(r), 0, size("h") - 1);
        sum(vx, vy, vc, vn) += select(c == cc && r == cr, x(cc, cr, vc, vn), 0_r);
        y(vx, vy, vc, vn) = sum(vx, vy, vc, vn) / count(vx, vy);
        scans = {sum};
    }
    void reference(Problem &p) const override {
        each(p, [&](int64_t n, int64_t c, int64_t a, int64_t b, const Window &w) {
            double total = 0;
            for (int64_t i = w.top; i < w.bottom; i++)
                for (int64_t j = w.left; j < w.right; j++) total += p("x")(n, c, i, j);
            p("y")(n, c, a, b) = total / count(p, a, b);
        });
    }
};

// x is there for its shape alone.
struct AvgPool2dDx : AvgBase {
    AvgPool2dDx() : AvgBase("avg_pool2d_dx", "x[n,c,h,w] dy[n,c,oh,ow] -> dx[n,c,h,w]", "") { internal = true; }
    Func x = input("x"), dy = input("dy"), dx = output("dx"), sum{"sum"};
    RDom j;

    void algorithm() override {
        const Expr ow = size("ow"), oh = size("oh");
        if (halves()) {
            const Expr ox = vx / 2, oy = vy / 2;
            dx(vx, vy, vc, vn) = select(ox < ow && oy < oh, dy(min(ox, ow - 1), min(oy, oh - 1), vc, vn) * 0.25_r, 0_r);
            return;
        }
        j = RDom(0, (kw + sw - 1) / sw, 0, (kh + sh - 1) / sh);
        const Expr ox = (vx + pl) / sw - j.x, oy = (vy + pt) / sh - j.y;
        const Expr cx = clamp(ox, 0, ow - 1), cy = clamp(oy, 0, oh - 1);
        const Expr inside = ox == cx && oy == cy && vx + pl - cx * sw < kw && vy + pt - cy * sh < kh;
        sum(vx, vy, vc, vn) += select(inside, dy(cx, cy, vc, vn) / count(cx, cy), 0_r);
        dx(vx, vy, vc, vn) = sum(vx, vy, vc, vn);
        scans = {sum};
    }
    void reference(Problem &p) const override {
        std::fill(p("dx").v.begin(), p("dx").v.end(), 0.0);
        each(p, [&](int64_t n, int64_t c, int64_t a, int64_t b, const Window &w) {
            for (int64_t i = w.top; i < w.bottom; i++)
                for (int64_t q = w.left; q < w.right; q++) p("dx")(n, c, i, q) += p("dy")(n, c, a, b) / count(p, a, b);
        });
    }
};

}  // namespace

HALYARD_OPS {
    ops.add<MaxPool2d>();
    ops.add<MaxPool2dDx>();
    ops.add<MaxPool2dIndices>();
    ops.add<AvgPool2d>();
    ops.add<AvgPool2dDx>();
}

}  // namespace halyard
