// The largest element of each window, its index, and the gradient.
#include "kernels/pooling/pool.h"

namespace halyard {
namespace {

using Halide::clamp;
using Halide::Expr;
using Halide::likely;

// Returns the larger one, or NaN if one is NaN.
Expr larger(const Expr &a, const Expr &b) {
    return select(b > a || b != b, b, a);
}

struct MaxBase : Pool {
    MaxBase(const std::string &name, const std::string &signature, const std::string &mindspore)
        : Pool(name, signature, mindspore, true) {
        flag(d.ceil_mode, false);
        ints("dilation", "1,1", {d.down.dilation, d.across.dilation});
        leave_out_taps(d.down);
        leave_out_taps(d.across);
        samples.insert(
            samples.end(),
            {"n=2 c=3 h=9 w=37 kernel_size=3,3 pad_mode=pad padding=1,1,1,1",
             "n=1 c=2 h=3 w=4 kernel_size=70000,5 stride=1,100000 pad_mode=same",
             "n=1 c=2 h=3 w=4 kernel_size=9,7 stride=3,2 pad_mode=pad padding=8,8,6,6",
             "n=1 c=2 h=9 w=37 kernel_size=3,3 dilation=2,3",
             "n=2 c=1 h=8 w=35 kernel_size=3,2 stride=2,2 dilation=2,4 pad_mode=pad "
             "padding=2,3,4,1 ceil_mode=1",
             "n=1 c=1 h=7 w=16 kernel_size=5,4 stride=1,3 dilation=3,2 pad_mode=same",
             "n=1 c=2 h=1 w=5 kernel_size=2,3 dilation=3,4 pad_mode=pad padding=2,2,4,4"});
    }
    Expr dh = derived(d.down.dilation, dilation_of_taps(d.down));
    Expr dw = derived(d.across.dilation, dilation_of_taps(d.across));

    static DimExpr is_dense() { return d.down.dilation == 1 && d.across.dilation == 1; }

    Expr is_undilated() const { return dh == 1 && dw == 1; }
    // A tap of a window: its position, limited to the map, and whether it is inside of that.
    // Without dilation the limited position is one of the window, too, which may count twice.
    struct Tap {
        Expr x, y, inside;
    };
    Tap tap(const Expr &ox, const Expr &oy, const Expr &kx, const Expr &ky) const {
        const Expr column = ox * sw + kx * dw - pl;
        const Expr row = oy * sh + ky * dh - pt;
        const Expr in_column = clamp(likely(column), 0, size(d.across.extent) - 1);
        const Expr in_row = clamp(likely(row), 0, size(d.down.extent) - 1);
        return {in_column, in_row, is_undilated() || (column == in_column && row == in_row)};
    }

private:
    // The dilation of a window of one tap has no effect, and may be any number.
    static DimExpr dilation_of_taps(const PoolAxis &a) {
        return select(a.kernel > 1, a.dilation, 1);
    }
    // Taps that are outside of the map in every window are never the maximum. Kernels run over all
    // taps, so they don't get the ones before the map, `over`, and behind it. Variants of 2 or 3
    // taps count on having them.
    void leave_out_taps(const PoolAxis &a) {
        const DimExpr step = max(1, a.dilation);
        const DimExpr padded = a.extent + a.border - a.over * step;
        let(a.over, select(a.kernel > 3, ceil_div(before_all_windows(a), step), 0));
        redefine(a.pad, a.border - a.over * step);
        redefine(a.kernel,
                 select(a.kernel > 3, min(a.kernel - a.over, ceil_div(padded, step)), a.kernel));
        redefine(a.stride, stride_of_windows(a, max(padded, 3)));
    }
    void redefine(const Dim &scalar, const DimExpr &e) {
        for (ScalarSpec &s : scalars)
            if (s.name == scalar.name()) s.value = e.text();
    }
};

struct MaxPool2d : MaxBase {
    MaxPool2d();
    Func x = input("x");
    Func y = output("y");

    void schedule(const Ascend &npu) override { schedule_ascend(npu, ascend::Pooled::max); }
    using Op::schedule;
    void reference(Problem &p) const override {
        each(p, [&](int64_t n, int64_t c, int64_t a, int64_t b, const Window &w) {
            double window_max = -INFINITY;
            for (int64_t i = w.top; i < w.bottom; i += w.step_h) {
                for (int64_t j = w.left; j < w.right; j += w.step_w) {
                    const double v = p("x")(n, c, i, j);
                    if (v > window_max || std::isnan(v)) window_max = v;
                }
            }
            p("y")(n, c, a, b) = window_max;
        });
    }
};

class Max3x3 : public Pool3x3<MaxPool2d> {
public:
    using Pool3x3::Pool3x3;
    void algorithm(const Build &) override {
        op.y(vx, vy, vc, vn) = reduce(op.x, math::lowest(), larger);
    }
};

class Max2x2 : public PoolVariant<MaxPool2d> {
public:
    using PoolVariant::PoolVariant;
    void algorithm(const Build &) override {
        const auto at = [&](int b, int a) { return op.x(vx * 2 + b, vy * 2 + a, vc, vn); };
        op.y(vx, vy, vc, vn) = larger(larger(at(0, 0), at(1, 0)), larger(at(0, 1), at(1, 1)));
    }
    void schedule(const Cpu &cpu) override { op.schedule_2x2(cpu); }
    using Implementation::schedule;
};

class MaxOfWindows : public PoolVariant<MaxPool2d> {
public:
    using PoolVariant::PoolVariant;
    void algorithm(const Build &) override {
        const RDom k(0, kw, 0, kh);
        best(vx, vy, vc, vn) = math::lowest();
        const auto tap = op.tap(vx, vy, k.x, k.y);
        best(vx, vy, vc, vn) = larger(
            best(vx, vy, vc, vn), select(tap.inside, op.x(tap.x, tap.y, vc, vn), math::lowest()));
        op.y(vx, vy, vc, vn) = best(vx, vy, vc, vn);
    }
    void schedule(const Cpu &cpu) override { op.schedule_windows(cpu, best, op.is_undilated()); }
    using Implementation::schedule;

private:
    Func best{"best"};
};

MaxPool2d::MaxPool2d() : MaxBase("max_pool2d", "x[n,c,h,w] -> y[n,c,oh,ow]", "MaxPool2d") {
    doc =
        "y = largest x of each window; NaN if there is one; padding never wins; the elements of a "
        "window are `dilation` apart";
    contract = {Contract::elementwise, 0};
    add(variant_of<Max3x3>(*this, "pool3x3s2", is_dense() && is_3x3(2, x, y), 2));
    add(variant_of<Max3x3>(*this, "pool3x3s1", is_dense() && is_3x3(1, x, y), 1));
    add(variant_of<Max2x2>(*this, "pool2x2", is_dense() && is_2x2()));
    add(variant_of<MaxOfWindows>(*this, "", DimExpr::always()));
}

// All of a window's gradient goes to its first maximum, row by row. Each dx gathers, in a fixed
// order, the windows whose winner it is. A tap is named by its place in the window: (i, j) is
// x(ox * sw + i, oy * sh + j) of the padded map, where i and j are multiples of the dilation.
struct MaxPool2dDx : MaxBase {
    MaxPool2dDx();
    Func x = input("x"), y = input("y"), dy = input("dy");
    Func dx = output("dx");

    void schedule(const Ascend &npu) override { schedule_ascend(npu, ascend::Pooled::max_dx); }
    using Op::schedule;
    void reference(Problem &p) const override {
        std::fill(p("dx").v.begin(), p("dx").v.end(), 0.0);
        Array &abs_sum = p.abs_sum["dx"] = p("dx");
        each(p, [&](int64_t n, int64_t c, int64_t a, int64_t b, const Window &w) {
            const double window_max = p("y")(n, c, a, b);
            for (int64_t i = w.top; i < w.bottom; i += w.step_h) {
                for (int64_t q = w.left; q < w.right; q += w.step_w) {
                    const double v = p("x")(n, c, i, q);
                    if (v != window_max && !(std::isnan(v) && std::isnan(window_max))) continue;
                    p("dx")(n, c, i, q) += p("dy")(n, c, a, b);
                    abs_sum(n, c, i, q) += std::fabs(p("dy")(n, c, a, b));
                    return;
                }
            }
        });
    }
};

// Returns true if `in` may be the maximum `largest`. The maximum is NaN if any of its window is.
Expr is_maximum(const Expr &in, const Expr &largest) {
    return in == largest || in != in;
}

// Windows of 2 x 2. winner(x, y, ..) is the tap of window (x, y) that has its maximum.
class Dx2x2 : public PoolVariant<MaxPool2dDx> {
public:
    using PoolVariant::PoolVariant;
    void algorithm(const Build &) override {
        find_winners();
        const Expr ow = size(d.across.windows), oh = size(d.down.windows);
        const Expr ox = vx / 2;
        const Expr oy = vy / 2;
        const Expr cx = min(ox, ow - 1);
        const Expr cy = min(oy, oh - 1);
        op.dx(vx, vy, vc,
              vn) = select(ox < ow && oy < oh && winner(cx, cy, vc, vn) == vy % 2 * 2 + vx % 2,
                           op.dy(cx, cy, vc, vn), 0_r);
    }
    void schedule(const Cpu &cpu) override { op.schedule_2x2(cpu, winner); }
    using Implementation::schedule;

protected:
    Func winner{"winner"};

    void find_winners() {
        const auto is = [&](int b, int a) {
            return is_maximum(op.x(vx * 2 + b, vy * 2 + a, vc, vn), op.y(vx, vy, vc, vn));
        };
        winner(vx, vy, vc, vn) = select(is(0, 0), 0, is(1, 0), 1, is(0, 1), 2, 3);
    }
};

// Windows cover the image exactly: a vector of windows gives two interleaved vectors on each of two
// lines.
class Dx2x2Exact : public Dx2x2 {
public:
    using Dx2x2::Dx2x2;
    void algorithm(const Build &) override {
        find_winners();
        op.dx(vx, vy, vc, vn) = select(winner(vx / 2, vy / 2, vc, vn) == vy % 2 * 2 + vx % 2,
                                       op.dy(vx / 2, vy / 2, vc, vn), 0_r);
    }
    void schedule(const Cpu &cpu) override {
        Func last = store();
        Var plane("plane"), task("task"), window("window"), px("px"), line("line"), py("py"),
            vec("vec"), lane("lane");
        auto image = last.output_buffer();
        // All four elements of a window share its winner if the image begins at an even position.
        for (int dim : {0, 1})
            image.dim(dim).set_min(0);
        op.by_planes(plane, task);
        last.split(var(0), window, px, 2, Tail::RoundUp)
            .split(var(1), line, py, 2, Tail::RoundUp)
            .reorder(px, py, window, line, plane)
            .unroll(px)
            .unroll(py);
        const Expr contiguous = op.rows_are_contiguous();
        for (int narrow = cpu.lanes; narrow > 2; narrow /= 2) {
            last.specialize(contiguous && image.dim(0).extent() >= 2 * narrow)
                .split(window, vec, lane, narrow, Tail::ShiftInwards)
                .reorder(lane, px, py, vec)
                .vectorize(lane);
        }
    }
    using Implementation::schedule;
};

// A plane's maps and winners stay in cache. dx is made there, padding included, and copied from it.
// docs/kernel_measurements.md, "pooling".
class DxPadded : public PoolVariant<MaxPool2dDx> {
public:
    using PoolVariant::PoolVariant;
    void algorithm(const Build &) override {
        const Expr ow = size(d.across.windows), oh = size(d.down.windows);
        map = PaddedMap("map", op.x, {size(d.across.extent), pl}, {size(d.down.extent), pt},
                        math::lowest());
        largest = PaddedMap("largest", op.y, {ow, 0}, {oh, 0});
        given = PaddedMap("given", op.dy, {ow, 0}, {oh, 0});  // 0 from windows that don't exist
        gather();
        op.dx(vx, vy, vc, vn) = padded(vx + pl, vy + pt, vc, vn);
    }
    void schedule(const Cpu &cpu) override {
        Func last = store();
        const int v = Pool::vector_size(cpu);
        Var plane("plane"), task("task"), vec("vec"), lane("lane");
        op.by_planes(plane, task);
        last.split(var(0), vec, lane, v, Tail::GuardWithIf).vectorize(lane);
        for (const PaddedMap &m : {map, largest, given})
            m.compute_at(last, plane, v);
        winner.compute_at(last, plane).split(vx, vec, lane, v, Tail::RoundUp).vectorize(lane);
        padded.compute_at(last, plane);
        schedule_gather(v, vec, lane);
        const Expr contiguous = op.rows_are_contiguous();
        for (const Expr &usual : usual_calls())
            last.specialize(contiguous && usual);
        last.specialize(contiguous);
    }
    using Implementation::schedule;

protected:
    static constexpr int none = 0x7fffffff;
    PaddedMap map, largest, given;
    Func winner{"winner"}, padded{"padded"};

    // Defines winner, the tap of each window that has its maximum, and padded, which is dx with its
    // padding.
    virtual void gather() = 0;
    virtual void schedule_gather(int v, const Var &vec, const Var &lane) = 0;
    // Returns conditions of calls that get loops of their own if rows are contiguous.
    virtual std::vector<Expr> usual_calls() const { return {}; }

    // Padding equals a window's maximum only if all of its x are the lowest number: then the first
    // of them wins, which is `column` columns and `row` lines after the window's begin.
    Expr unpadded(const Expr &tap, const Expr &pitch, const Expr &column, const Expr &row) const {
        return select(largest(vx, vy, vc, vn) == math::lowest(), row * pitch + column, tap);
    }
    // Returns dy of window (ox, oy) if `tap` is its winner, else 0.
    Expr won(const Expr &ox, const Expr &oy, const Expr &tap) const {
        return select(winner(ox, oy, vc, vn) == tap, given(ox, oy, vc, vn), 0_r);
    }
};

// Column 2a of the padded map is in windows a (tap 0) and a - 1 (tap 2), column 2a + 1 in window a
// only (tap 1). The same holds for lines.
class Dx3x3s2 : public DxPadded {
public:
    using DxPadded::DxPadded;

protected:
    void gather() override {
        constexpr int pitch = 4;
        Expr first = none;
        for (int b = 3; b-- > 0;) {
            for (int a = 3; a-- > 0;) {
                first = select(
                    is_maximum(map(vx * 2 + a, vy * 2 + b, vc, vn), largest(vx, vy, vc, vn)),
                    b * pitch + a, first);
            }
        }
        winner(vx, vy, vc, vn) = unpadded(first, pitch, max(pl - vx * 2, 0), max(pt - vy * 2, 0));
        const auto tap = [&](int a, int b) {
            return won(vx / 2 - a / 2, vy / 2 - b / 2, b * pitch + a);
        };
        const auto column = [&](int a) {
            return select(vy % 2 == 1, tap(a, 1), tap(a, 0) + tap(a, 2));
        };
        padded(vx, vy, vc, vn) = select(vx % 2 == 1, column(1), column(0) + column(2));
    }
    void schedule_gather(int v, const Var &vec, const Var &lane) override {
        Var pair("pair"), px("px"), py("py");
        padded.align_bounds(vx, 2)
            .align_bounds(vy, 2)
            .split(vx, pair, px, 2, Tail::RoundUp)
            .split(pair, vec, lane, v, Tail::RoundUp);
        padded.split(vy, vy, py, 2, Tail::RoundUp)
            .reorder(lane, px, py, vec, vy)
            .vectorize(lane)
            .unroll(px)
            .unroll(py);
    }
};

// Windows a, a - 1, .. cover column a sw + p of the padded map.
class DxOfWindows : public DxPadded {
public:
    using DxPadded::DxPadded;
    void algorithm(const Build &build) override {
        if (build.on_gpu)
            gather_by_elements();
        else
            DxPadded::algorithm(build);
    }

protected:
    // Two kernels, without padded maps: a thread finds the winner of a window, then a thread adds
    // what an element of dx gets from the windows around it.
    void gather_by_elements() {
        const Expr w = size(d.across.extent), h = size(d.down.extent);
        const Expr ow = size(d.across.windows), oh = size(d.down.windows);
        const RDom k(0, kw, 0, kh);
        const Expr x = vx * sw + k.x * op.dw - pl;
        const Expr y = vy * sh + k.y * op.dh - pt;
        const Expr is = x >= 0 && x < w && y >= 0 && y < h &&
                        is_maximum(op.x(clamp(x, 0, w - 1), clamp(y, 0, h - 1), vc, vn),
                                   op.y(vx, vy, vc, vn));
        first(vx, vy, vc, vn) = none;
        first(vx, vy, vc, vn) = min(first(vx, vy, vc, vn), select(is, k.y * kw + k.x, none));

        const RDom t(0, kw, 0, kh);
        const Expr from_x = vx + pl - t.x * op.dw, from_y = vy + pt - t.y * op.dh;
        const Expr ox = clamp(from_x / sw, 0, ow - 1), oy = clamp(from_y / sh, 0, oh - 1);
        const Expr wins = ox * sw == from_x && oy * sh == from_y &&
                          first(ox, oy, vc, vn) == t.y * kw + t.x;
        given_to(vx, vy, vc, vn) += select(wins, op.dy(ox, oy, vc, vn), 0_r);
        op.dx(vx, vy, vc, vn) = given_to(vx, vy, vc, vn);
    }
    void gather() override {
        const Expr dw = op.dw, dh = op.dh;
        const Expr across = ((kw - 1) * dw + sw) / sw;
        const Expr pitch = across * sw;
        const RDom k(0, kw, 0, kh);
        j = RDom(0, across, 0, ((kh - 1) * dh + sh) / sh);
        columns = RDom(0, (size(d.across.extent) + pl + sw - 1) / sw, 0, sw);
        const Expr is = is_maximum(map(vx * sw + k.x * dw, vy * sh + k.y * dh, vc, vn),
                                   largest(vx, vy, vc, vn));
        first(vx, vy, vc, vn) = none;
        first(vx, vy, vc, vn) = min(first(vx, vy, vc, vn),
                                    select(is, k.y * dh * pitch + k.x * dw, none));
        const auto unpadded_tap = [](const Expr &begin, const Expr &step) {
            return (max(-begin, 0) + step - 1) / step * step;
        };
        column(vx) = unpadded_tap(vx * sw - pl, dw);
        winner(vx, vy, vc, vn) = unpadded(first(vx, vy, vc, vn), pitch, column(vx),
                                          unpadded_tap(vy * sh - pt, dh));
        sum(vx, vp, vy, vc, vn) += won(vx - j.x, vy / sh - j.y,
                                       (vy % sh + j.y * sh) * pitch + vp + j.x * sw);
        padded(vx, vy, vc, vn) = 0_r;
        padded(columns.x * sw + columns.y, vy, vc, vn) = sum(columns.x, columns.y, vy, vc, vn);
    }
    void schedule_gather(int v, const Var &vec, const Var &) override {
        RVar xo("xo"), xi("xi");
        column.compute_at(store(), Var("plane"));  // it has a division for each window
        first.compute_at(winner, vec).bound_extent(vx, v).vectorize(vx);
        first.update().vectorize(vx);
        sum.compute_at(padded, xo).bound_extent(vx, v).vectorize(vx);
        sum.update().reorder(vx, j.x, j.y).vectorize(vx);
        // Iterations write different columns, because columns.y < sw.
        padded.update()
            .allow_race_conditions()
            .split(columns.x, xo, xi, v, Tail::GuardWithIf)
            .reorder(xi, xo, columns.y)
            .vectorize(xi);
    }
    std::vector<Expr> usual_calls() const override { return {sw == 1, sw == 2}; }

private:
    Func first{"first"}, sum{"sum"}, column{"column"}, given_to{"given_to"};
    Var vp{"phase"};
    RDom j, columns;
};

MaxPool2dDx::MaxPool2dDx()
    : MaxBase("max_pool2d_dx", "x[n,c,h,w] y[n,c,oh,ow] dy[n,c,oh,ow] -> dx[n,c,h,w]", "") {
    internal = true;
    contract = {Contract::products, 8};  // sums of dy may cancel
    const DimExpr covers = d.across.extent == 2 * d.across.windows &&
                           d.down.extent == 2 * d.down.windows && d.across.windows >= 4;
    add(variant_of<Dx2x2Exact>(*this, "pool2x2_exact", is_dense() && is_2x2() && covers));
    add(variant_of<Dx3x3s2>(*this, "pool3x3s2", is_dense() && is_3x3(2, x, dx)));
    add(variant_of<Dx2x2>(*this, "pool2x2", is_dense() && is_2x2()));
    add(variant_of<DxOfWindows>(*this, "", DimExpr::always()));
    samples.insert(samples.end(), {"n=2 c=3 h=10 w=10 kernel_size=2,2 stride=2,2",
                                   "n=1 c=2 h=6 w=28 kernel_size=2,2 stride=2,2",
                                   "n=3 c=1 h=4 w=34 kernel_size=2,2 stride=2,2"});
    bench.push_back("n=32 c=64 h=56 w=56 kernel_size=3,3 stride=2,2 pad_mode=pad padding=1,1,1,1");
}

// The index in the plane of the first maximum of each window, row by row. The first NaN counts as
// the maximum. A window between whose taps the map lies, which takes a dilation, has index 0.
struct MaxPool2dIndices : MaxBase {
    MaxPool2dIndices() : MaxBase("max_pool2d_indices", "x[n,c,h,w] -> indices:i32[n,c,oh,ow]", "") {
        internal = true;
    }
    Func x = input("x");
    Func indices = output("indices");
    Func best{"best"};

    void algorithm() override {
        constexpr int none = -1;
        const RDom k(0, kw, 0, kh);
        const Tap t = tap(vx, vy, k.x, k.y);
        const auto index = [&](const Tap &p) { return p.y * size(d.across.extent) + p.x; };
        const Tap first = tap(vx, vy, 0, 0);
        best(vx, vy, vc, vn) = Halide::Tuple(
            select(is_undilated(), x(first.x, first.y, vc, vn), math::lowest()),
            select(is_undilated(), index(first), none));
        const Expr window_max = best(vx, vy, vc, vn)[0];
        const Expr at = best(vx, vy, vc, vn)[1];
        const Expr next = x(t.x, t.y, vc, vn);
        const Expr is_first = !is_undilated() && at == none;
        const Expr wins = t.inside && (is_first || next > window_max ||
                                       (next != next && window_max == window_max));
        best(vx, vy, vc, vn) = Halide::Tuple(select(wins, next, window_max),
                                             select(wins, index(t), at));
        indices(vx, vy, vc, vn) = max(best(vx, vy, vc, vn)[1], 0);
    }
    void schedule(const Cpu &cpu) override { schedule_windows(cpu, best, is_undilated()); }
    using Op::schedule;
    void reference(Problem &p) const override {
        each(p, [&](int64_t n, int64_t c, int64_t a, int64_t b, const Window &w) {
            int64_t at = -1;
            double window_max = -INFINITY;
            for (int64_t i = w.top; i < w.bottom; i += w.step_h) {
                for (int64_t j = w.left; j < w.right; j += w.step_w) {
                    const double v = p("x")(n, c, i, j);
                    const bool wins = at < 0 || v > window_max ||
                                      (std::isnan(v) && !std::isnan(window_max));
                    if (!wins) continue;
                    at = i * p["w"] + j;
                    window_max = v;
                }
            }
            p("indices")(n, c, a, b) = double(std::max<int64_t>(at, 0));
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
