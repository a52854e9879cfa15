// Pooling over windows of two spatial dimensions: what max_pool2d and avg_pool2d share.
//
// Sizes are MindSpore's: `valid` floor((h - k) / s) + 1; `same` ceil(h / s), padded by max((oh-1) s
// + k - h, 0), the odd line at the bottom; `pad` by `padding` = top, bottom, left, right. With
// ceil_mode the last window of `valid` and `pad` may be cut off, as in PyTorch, if it begins before
// the padding at the end. Pads are smaller than the kernel, so no window is empty.
#pragma once
#include <cmath>

#include "dsl/ascend/convolution/pooling.h"
#include "dsl/ascend/schedule.h"
#include "dsl/op.h"
#include "kernels/convolution/padded_map.h"

namespace halyard {

struct Pool : Op {
    Pool(const std::string &name, const std::string &signature, const std::string &mindspore)
        : Op(name, signature) {
        alias = mindspore;
        any_strides = true;
        ints("kernel_size", "1,1", {"kernel_h", "kernel_w"});
        ints("stride", "1,1", {"stride_h", "stride_w"});
        choice("pad_mode", {"valid", "same", "pad"});
        ints("padding", "0,0,0,0", {"top", "bottom", "left", "right"});
        choice("data_format", {"NCHW", "NHWC"});
        for (const std::string d : {"h", "w"}) {
            const std::string k = "kernel_" + d;
            const std::string s = "max(1,stride_" + d + ")";
            const std::string o = "o" + d;
            const std::string before = d == "h" ? "top" : "left";
            const std::string after = d == "h" ? "bottom" : "right";
            const std::string whole = "max(0,(cdiv(" + d + "," + s + ")-1)*" + s + "+" + k + "-" +
                                      d + ")";
            let("pads_" + d,
                "pad_mode==same?" + whole + ":pad_mode==pad?" + before + "+" + after + ":0");
            let("full_" + d,
                "(" + d + "+pads_" + d + "-" + k + "+ceil_mode*(" + s + "-1))/" + s + "+1");
            const std::string beyond = "((full_" + d + "-1)*" + s + ">=" + d + "+(pad_mode==pad?" +
                                       before + ":0))";
            let("border_" + before, "pad_mode==pad?" + before + ":pads_" + d + "/2");
            let(o, "pad_mode==same?cdiv(" + d + "," + s + "):" + d + "+pads_" + d + "<" + k +
                       "?0:full_" + d + "-" + beyond);
            conditions.push_back(k + ">=1");
            conditions.push_back("stride_" + d + ">=1");
            // a window needs something to look at, not padding alone
            conditions.push_back(d + ">=1");
            conditions.push_back(d + "+pads_" + d + ">=" + k);
            conditions.push_back(before + ">=0");
            conditions.push_back(after + ">=0");
            conditions.push_back("pad_mode!=pad||max(" + before + "," + after + ")<" + k);
        }
        conditions.push_back("pad_mode==pad||top+bottom+left+right==0");
        const std::string lenet = "kernel_size=2,2 stride=2,2",
                          stem = "kernel_size=3,3 stride=2,2 pad_mode=same";
        variants = {
            {"halves",
             "kernel_h==2 kernel_w==2 stride_h==2 stride_w==2 pads_h==0 pads_w==0 2*oh<=h 2*ow<=w"},
            {"", ""}};
        samples = {
            "n=1 c=1 h=1 w=1",
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
        bench = {"n=32 c=6 h=28 w=28 " + lenet, "n=32 c=16 h=10 w=10 " + lenet,
                 "n=4 c=64 h=112 w=112 " + stem};
    }
    static constexpr int task_elements = 16384;
    // The stride of a single window means nothing, and gradients take as long as it is large. Less
    // than the map or the window would cost them, too.
    static std::string of_windows(const std::string &d) {
        return of_windows(d, "max(" + d + ",kernel_" + d + ")");
    }
    static std::string of_windows(const std::string &d, const std::string &most) {
        return "o" + d + ">1 ? stride_" + d + " : min(stride_" + d + "," + most + ")";
    }
    Var vx{"x"}, vy{"y"}, vc{"c"}, vn{"n"};
    Expr kh = derived("kernel_h", "kernel_h"), kw = derived("kernel_w", "kernel_w");
    Expr sh = derived("stride_h", of_windows("h"));
    Expr sw = derived("stride_w", of_windows("w"));
    Expr pt = derived("pad_top", "border_top"), pl = derived("pad_left", "border_left");

    bool halves() const { return variant == "halves"; }
    bool thirds() const { return variant == "thirds"; }

    // 3 x 3 with stride 2: a plane is padded in L1, its columns are reduced to one row, and that to
    // every other element.
    Func down{"down"}, places;  // places: of the elements that a mean is of
    PaddedMap map;
    Variant thirds_of(const std::string &out) const {
        return {"thirds",
                "kernel_h==3 kernel_w==3 stride_h==2 stride_w==2 x_s0==1 " + out + "_s0==1"};
    }
    template<class Combine>
    Expr by_thirds(const Func &x, const Expr &around, const Combine &combine) {
        map = PaddedMap("map", x, {size("w"), pl}, {size("h"), pt}, around);
        const auto line = [&](int j) { return map(vx, vy * 2 + j, vc, vn); };
        down(vx, vy, vc, vn) = combine(combine(line(0), line(1)), line(2));
        const auto at = [&](int i) { return down(vx * 2 + i, vy, vc, vn); };
        return combine(combine(at(0), at(1)), at(2));
    }
    // The largest of 32 x 64 maps of 56 x 56, padded by 1, one thread, AVX-512 on an AMD EPYC Zen
    // 5: 1.8 ms, 2.5 with lines reduced one at a time, whose vectors are read before both stores
    // that they lie across are done, and a last vector gathered element by element; 4.5 without
    // this variant. A buffer per task instead of one per plane and line: 0.89 of the time. places,
    // for the mean, once per task: 0.7.
    void third_tiles(const Cpu &cpu) {
        Func last = store();
        const int v = std::max(4, cpu.lanes);  // not 2, as below
        Var plane("plane"), task("task"), lines("lines"), line("line"), vec("vec"), lane("lane");
        const auto image = last.output_buffer();
        last.fuse(var(2), var(3), plane)
            .split(plane, task, plane,
                   max(1, task_elements / max(1, image.dim(0).extent() * image.dim(1).extent())),
                   Tail::GuardWithIf)
            .split(var(1), lines, line, 8, Tail::GuardWithIf);
        last.parallel(task).split(var(0), vec, lane, v, Tail::PredicateStores).vectorize(lane);
        map.compute_at(last, plane, v, &task);
        if (places.defined()) places.compute_at(last, task).vectorize(vx, v, Tail::RoundUp);
        down.compute_at(last, lines).hoist_storage(last, task).vectorize(vx, v, Tail::RoundUp);
        last.specialize(image.dim(0).stride() == 1 && memory[0].dim(0).stride() == 1);
    }

    // A task is some planes of one channel each; vectors go along w, which channels-last tensors
    // step through with a stride.
    void schedule(const Cpu &cpu) override {
        if (thirds()) return third_tiles(cpu);
        Func last = store();
        // of two lanes [a, b] Halide 21 makes the ramp a + (b - a) * i: of NaN and b it makes two
        // NaN
        const int v = std::max(4, cpu.lanes);
        Var plane("plane"), task("task"), vec("vec"), lane("lane");
        const auto image = last.output_buffer();
        const Expr extent = image.dim(0).extent() * image.dim(1).extent();
        last.fuse(var(2), var(3), plane)
            .split(plane, task, plane, max(1, task_elements / max(1, extent)), Tail::GuardWithIf)
            .parallel(task);
        // Whole vectors, overlapping at the end of a row, where the row has one; narrower ones in
        // small images.
        Expr dense = image.dim(0).stride() == 1;
        for (auto &m : memory)
            dense = dense && m.dim(0).stride() == 1;
        if (halves()) {
            for (int narrow = v; narrow > 2; narrow /= 2) {
                last.specialize(dense && image.dim(0).extent() >= narrow)
                    .split(var(0), vec, lane, narrow, Tail::ShiftInwards)
                    .vectorize(lane);
            }
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
                for (int narrow = v; narrow > 2; narrow /= 2) {
                    per_plane
                        .specialize(columns >= narrow && memory[0].dim(0).stride() == 1 &&
                                    memory[1].dim(0).stride() == 1)
                        .split(px, vec, lane, narrow, Tail::ShiftInwards)
                        .vectorize(lane);
                }
            }
            per_plane.split(px, vec, lane, v, Tail::GuardWithIf).vectorize(lane);
        }
        if (halves()) return;
        for (int s : {1, 2})
            last.specialize(dense && sw == s);
        last.specialize(dense);
    }
    void pooled(const Ascend &npu, ascend::Pooled p) const {
        if (!ascend::pool(npu, *this, p)) npu.automatic();
    }
    std::vector<Func> scans;  // windows of the output
    Func per_plane;           // what a whole plane of the output reads

    // [top, bottom) x [left, right), cut to the image
    struct Window {
        int64_t top, bottom, left, right;
    };
    static Window window(Problem &p, int64_t a, int64_t b) {
        const int64_t y = a * p["stride_h"] - p["border_top"];
        const int64_t x = b * p["stride_w"] - p["border_left"];
        return {std::max<int64_t>(y, 0), std::min(y + p["kernel_h"], p["h"]),
                std::max<int64_t>(x, 0), std::min(x + p["kernel_w"], p["w"])};
    }
    // value(n, c, oh, ow, window) for every output
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
};

}  // namespace halyard
