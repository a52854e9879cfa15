// Pooling over windows of two spatial dimensions: what max_pool2d and avg_pool2d share.
//
// Sizes are MindSpore's: `valid` has floor((h - k) / s) + 1 windows. `same` has ceil(h / s), with
// max((oh-1) s + k - h, 0) rows of padding, the odd one at the bottom. `pad` pads by `padding` =
// top, bottom, left, right. With ceil_mode the last window of `valid` and `pad` may be cut off, as
// in PyTorch, if it begins before the padding at the end. Padding is smaller than the window, so
// each window reaches into the map.
#pragma once
#include <cmath>

#include "dsl/ascend/convolution/pooling.h"
#include "dsl/ascend/schedule.h"
#include "dsl/op.h"
#include "kernels/convolution/padded_map.h"

namespace halyard {

// The names of one spatial dimension in lets and conditions.
struct PoolAxis {
    Dim extent, windows;
    Dim kernel, stride;
    Dim before, after;  // the attribute `padding`
    Dim pads;           // padding on both sides
    Dim full;           // windows, of which the last may begin in the padding at the end
    Dim border;         // padding in front
    Dim over;           // taps in front that never meet the map (max_pool2d)
    Dim pad;            // padding in front of the kernel's windows
    Dim dilation;       // the distance of neighbouring taps (max_pool2d)
};

struct PoolDims {
    PoolAxis down{Dim("h"),          Dim("oh"),     Dim("kernel_h"), Dim("stride_h"),
                  Dim("top"),        Dim("bottom"), Dim("pads_h"),   Dim("full_h"),
                  Dim("border_top"), Dim("over_h"), Dim("pad_top"),  Dim("dilation_h")};
    PoolAxis across{Dim("w"),           Dim("ow"),     Dim("kernel_w"), Dim("stride_w"),
                    Dim("left"),        Dim("right"),  Dim("pads_w"),   Dim("full_w"),
                    Dim("border_left"), Dim("over_w"), Dim("pad_left"), Dim("dilation_w")};
    Dim pad_mode{"pad_mode"}, valid{"valid"}, same{"same"}, pad{"pad"};
    Dim data_format{"data_format"}, nchw{"NCHW"}, nhwc{"NHWC"};
    Dim ceil_mode{"ceil_mode"};
};

class Pool : public Op {
public:
    // An op that `dilates` declares the attribute `dilation`.
    Pool(const std::string &name, const std::string &signature, const std::string &mindspore,
         bool dilates = false)
        : Op(name, signature), dilates_(dilates) {
        alias = mindspore;
        any_strides = true;
        ints("kernel_size", "1,1", {d.down.kernel, d.across.kernel});
        ints("stride", "1,1", {d.down.stride, d.across.stride});
        choice(d.pad_mode, {d.valid, d.same, d.pad});
        ints("padding", "0,0,0,0", {d.down.before, d.down.after, d.across.before, d.across.after});
        choice(d.data_format, {d.nchw, d.nhwc});
        declare_axis(d.down);
        declare_axis(d.across);
        require(d.pad_mode == d.pad ||
                d.down.before + d.down.after + d.across.before + d.across.after == 0);
        const std::string lenet = "kernel_size=2,2 stride=2,2",
                          stem = "kernel_size=3,3 stride=2,2 pad_mode=same";
        samples = {
            "n=1 c=1 h=1 w=1", "n=2 c=3 h=6 w=6 " + lenet, "n=1 c=2 h=7 w=33 " + lenet,
            "n=3 c=1 h=5 w=67 " + lenet, "n=1 c=2 h=7 w=5 kernel_size=2,2 stride=2,2 pad_mode=same",
            "n=2 c=3 h=8 w=8 " + stem, "n=1 c=17 h=7 w=9 " + stem,
            "n=1 c=2 h=7 w=38 kernel_size=2,3 stride=1,2",
            "n=1 c=2 h=8 w=31 kernel_size=3,3 stride=2,2 pad_mode=pad padding=1,1,1,1",
            // Whole vectors of windows, of which the last overhang by two and three.
            "n=1 c=1 h=6 w=32 kernel_size=5,5 stride=1,1 pad_mode=pad padding=2,2,2,2",
            "n=1 c=1 h=8 w=46 kernel_size=7,7 stride=3,3 pad_mode=pad padding=3,3,3,3",
            "n=1 c=1 h=5 w=5 kernel_size=4,4 stride=5,3 pad_mode=pad padding=3,0,1,2",
            "n=1 c=2 h=7 w=6 kernel_size=2,2 stride=2,2 ceil_mode=1",
            "n=2 c=1 h=5 w=6 kernel_size=3,2 stride=2,3 pad_mode=pad padding=1,1,1,0 ceil_mode=1"};
        bench = {"n=32 c=6 h=28 w=28 " + lenet, "n=32 c=16 h=10 w=10 " + lenet,
                 "n=4 c=64 h=112 w=112 " + stem};
    }

    static inline const PoolDims d;
    Var vx{"x"}, vy{"y"}, vc{"c"}, vn{"n"};
    Expr kh = derived(d.down.kernel, d.down.kernel), kw = derived(d.across.kernel, d.across.kernel);
    Expr sh = derived(d.down.stride, stride_of_windows(d.down));
    Expr sw = derived(d.across.stride, stride_of_windows(d.across));
    Expr pt = derived(d.down.pad, d.down.border), pl = derived(d.across.pad, d.across.border);

    // Returns the stride, which is no larger than `limit` if there is only one window: its stride
    // has no effect, and gradients take as long as it is large.
    static DimExpr stride_of_windows(const PoolAxis &a, const DimExpr &limit) {
        return select(a.windows > 1, a.stride, min(a.stride, limit));
    }
    // A stride smaller than the map or the window would cost gradients, too.
    static DimExpr stride_of_windows(const PoolAxis &a) {
        return stride_of_windows(a, max(a.extent, a.kernel));
    }

    // Returns how many elements of the padding in front the last window still contains. As many
    // first elements of every window are before the map.
    static DimExpr before_all_windows(const PoolAxis &a) {
        return max(a.border - max(a.windows - 1, 0) * a.stride, 0);
    }

    // Windows of 2 x 2 with stride 2 that all are inside of the map.
    static DimExpr is_2x2() {
        return d.down.kernel == 2 && d.across.kernel == 2 && d.down.stride == 2 &&
               d.across.stride == 2 && d.down.pads == 0 && d.across.pads == 0 &&
               2 * d.down.windows <= d.down.extent && 2 * d.across.windows <= d.across.extent;
    }
    // Windows of 3 x 3 with this stride, of a tensor `x` and to `out`, whose rows are contiguous.
    DimExpr is_3x3(int windows_apart, const Func &x, const Func &out) const {
        return d.down.kernel == 3 && d.across.kernel == 3 && d.down.stride == windows_apart &&
               d.across.stride == windows_apart && stride(x) == 1 && stride(out) == 1;
    }

    // A vector has at least 4 elements: of two lanes [a, b] Halide 21 makes the ramp a + (b - a) *
    // i, and of NaN and b that makes two NaN.
    static int vector_size(const Cpu &cpu) { return std::max(4, cpu.lanes); }
    // Schedules tasks of some planes of store(), each of one channel. The loop over the planes of a
    // task is `plane`, the one over tasks `task`.
    void by_planes(const Var &plane, const Var &task) const {
        const auto image = store().output_buffer();
        const Expr elements = image.dim(0).extent() * image.dim(1).extent();
        store()
            .fuse(var(2), var(3), plane)
            .split(plane, task, plane, max(1, task_elements / max(1, elements)), Tail::GuardWithIf)
            .parallel(task);
    }
    // Returns true if all tensors have contiguous rows. Channels-last tensors don't: vectors go
    // along w with a stride.
    Expr rows_are_contiguous() const {
        Expr contiguous = store().output_buffer().dim(0).stride() == 1;
        for (auto &m : memory)
            contiguous = contiguous && m.dim(0).stride() == 1;
        return contiguous;
    }
    // Schedules windows of any size; `reduced` is the Func that goes over their taps. Calls that
    // fulfil `usual` get loops of their own.
    void schedule_windows(const Cpu &cpu, Func reduced, const Expr &usual = {}) const {
        Func last = store();
        const int v = vector_size(cpu);
        Var plane("plane"), task("task"), vec("vec"), lane("lane");
        by_planes(plane, task);
        last.split(var(0), vec, lane, v, Tail::GuardWithIf).vectorize(lane);
        const Var rx = reduced.args()[0];
        reduced.compute_at(last, vec).bound_extent(rx, v).vectorize(rx);
        reduced.update().vectorize(rx);
        const Expr contiguous = usual.defined() ? usual && rows_are_contiguous()
                                                : rows_are_contiguous();
        for (int s : {1, 2})
            last.specialize(contiguous && sw == s);
        last.specialize(contiguous);
        if (usual.defined()) last.specialize(usual);
    }
    // Schedules windows of 2 x 2. Rows have whole vectors, the last of which overlaps the one
    // before it; small images have narrower ones. `per_plane`, if defined, is computed plane by
    // plane.
    void schedule_2x2(const Cpu &cpu, Func per_plane = Func()) const {
        Func last = store();
        const int v = vector_size(cpu);
        Var plane("plane"), task("task"), vec("vec"), lane("lane");
        by_planes(plane, task);
        const auto image = last.output_buffer();
        const Expr contiguous = rows_are_contiguous();
        for (int narrow = v; narrow > 2; narrow /= 2) {
            last.specialize(contiguous && image.dim(0).extent() >= narrow)
                .split(var(0), vec, lane, narrow, Tail::ShiftInwards)
                .vectorize(lane);
        }
        last.split(var(0), vec, lane, v, Tail::GuardWithIf).vectorize(lane);
        if (!per_plane.defined()) return;
        const Var px = per_plane.args()[0];
        per_plane.compute_at(last, plane);
        const Expr columns = memory[1].dim(0).extent();
        for (int narrow = v; narrow > 2; narrow /= 2) {
            per_plane
                .specialize(columns >= narrow && memory[0].dim(0).stride() == 1 &&
                            memory[1].dim(0).stride() == 1)
                .split(px, vec, lane, narrow, Tail::ShiftInwards)
                .vectorize(lane);
        }
        per_plane.split(px, vec, lane, v, Tail::GuardWithIf).vectorize(lane);
    }

    // Writes a program of its own for the chip, or, where there is none, schedules automatically.
    void schedule_ascend(const Ascend &npu, ascend::Pooled p) const {
        if (!ascend::pool(npu, *this, p)) npu.automatic();
    }

    // The window [top, bottom) x [left, right), cut to the image. Of its lines and columns it has
    // every `step`th, counted from the first.
    struct Window {
        int64_t top, bottom, left, right;
        int64_t step_h = 1, step_w = 1;
    };
    static Window window(Problem &p, int64_t a, int64_t b) {
        const bool dilates = p.dims.contains("dilation_h");
        const int64_t dh = dilates ? p["dilation_h"] : 1;
        const int64_t dw = dilates ? p["dilation_w"] : 1;
        const int64_t y = a * p["stride_h"] - p["border_top"];
        const int64_t x = b * p["stride_w"] - p["border_left"];
        const auto first = [](int64_t at, int64_t step) {
            return at < 0 ? at + (-at + step - 1) / step * step : at;
        };
        return {first(y, dh), std::min(y + (p["kernel_h"] - 1) * dh + 1, p["h"]),
                first(x, dw), std::min(x + (p["kernel_w"] - 1) * dw + 1, p["w"]),
                dh,           dw};
    }
    // Calls value(n, c, oh, ow, window) for every output.
    template<class F> static void each(Problem &p, F value) {
        for (int64_t n = 0; n < p["n"]; n++) {
            for (int64_t c = 0; c < p["c"]; c++) {
                for (int64_t a = 0; a < p["oh"]; a++) {
                    for (int64_t b = 0; b < p["ow"]; b++)
                        value(n, c, a, b, window(p, a, b));
                }
            }
        }
    }

protected:
    // Returns the lines from a window's first tap to its last one.
    DimExpr reach(const PoolAxis &a) const {
        return dilates_ ? (a.kernel - 1) * a.dilation + 1 : DimExpr(a.kernel);
    }

private:
    static constexpr int task_elements = 16384;
    bool dilates_;

    void declare_axis(const PoolAxis &a) {
        const DimExpr stride = max(1, a.stride);
        let(a.pads, select(d.pad_mode == d.same,
                           max(0, (ceil_div(a.extent, stride) - 1) * stride + reach(a) - a.extent),
                           select(d.pad_mode == d.pad, a.before + a.after, 0)));
        let(a.full, (a.extent + a.pads - reach(a) + d.ceil_mode * (stride - 1)) / stride + 1);
        const DimExpr begins_beyond = (a.full - 1) * stride >=
                                      a.extent + select(d.pad_mode == d.pad, a.before, 0);
        let(a.border, select(d.pad_mode == d.pad, a.before, a.pads / 2));
        let(a.windows, select(d.pad_mode == d.same, ceil_div(a.extent, stride),
                              select(a.extent + a.pads < reach(a), 0, a.full - begins_beyond)));
        require(a.kernel >= 1);
        require(a.stride >= 1);
        if (dilates_) require(a.dilation >= 1);
        require(a.extent >= 1);
        require(a.extent + a.pads >= a.kernel);
        if (dilates_) require(a.extent + a.pads >= reach(a));
        require(a.before >= 0);
        require(a.after >= 0);
        require(d.pad_mode != d.pad || max(a.before, a.after) < reach(a));
    }
};

// A variant of the pooling op O.
template<class O> class PoolVariant : public Implementation {
public:
    explicit PoolVariant(O &o) : Implementation(o), op(o) {}

protected:
    O &op;
    static inline const PoolDims &d = Pool::d;
    const Expr kh = op.kh, kw = op.kw, sh = op.sh, sw = op.sw, pt = op.pt, pl = op.pl;
    Var vx{"x"}, vy{"y"}, vc{"c"}, vn{"n"};
};

// Windows of 3 x 3 with stride 1 or 2: a plane is padded in L1, its columns are reduced to one row,
// and that to every element or every other one. It is faster than reducing rows one at a time,
// whose vectors are read before both stores that they span are done: docs/kernel_measurements.md,
// "pooling".
template<class O> class Pool3x3 : public PoolVariant<O> {
public:
    Pool3x3(O &op, int windows_apart) : PoolVariant<O>(op), windows_apart_(windows_apart) {}
    void schedule(const Cpu &cpu) override {
        using Tail = Halide::TailStrategy;
        using Halide::Var;
        const Pool &op = this->op;
        Halide::Func last = op.store();
        const int v = Pool::vector_size(cpu);
        Var plane("plane"), task("task"), lines("lines"), line("line"), vec("vec"), lane("lane");
        op.by_planes(plane, task);
        last.split(op.var(1), lines, line, 8, Tail::GuardWithIf)
            .split(op.var(0), vec, lane, v, Tail::PredicateStores)
            .vectorize(lane);
        map.compute_at(last, plane, v, &task);
        if (divisors.defined()) divisors.compute_at(last, task).vectorize(op.vx, v, Tail::RoundUp);
        rows.compute_at(last, lines).hoist_storage(last, task).vectorize(op.vx, v, Tail::RoundUp);
        last.specialize(last.output_buffer().dim(0).stride() == 1 &&
                        op.memory[0].dim(0).stride() == 1);
    }
    using Implementation::schedule;

protected:
    Halide::Func rows{"down"};
    Halide::Func divisors;  // computed once per task, if defined
    PaddedMap map;

    // Returns combine() of all elements of x's windows, where padding is `around`.
    template<class Combine>
    Halide::Expr reduce(const Halide::Func &x, const Halide::Expr &around, const Combine &combine) {
        const PoolDims &d = Pool::d;
        const Halide::Var vx("x"), vy("y"), vc("c"), vn("n");
        map = PaddedMap("map", x, {this->size(d.across.extent), this->pl},
                        {this->size(d.down.extent), this->pt}, around);
        const auto line = [&](int j) { return map(vx, vy * windows_apart_ + j, vc, vn); };
        rows(vx, vy, vc, vn) = combine(combine(line(0), line(1)), line(2));
        const auto at = [&](int i) { return rows(vx * windows_apart_ + i, vy, vc, vn); };
        return combine(combine(at(0), at(1)), at(2));
    }

private:
    const int windows_apart_;  // the stride
};

}  // namespace halyard
