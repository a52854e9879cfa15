// The gradients of conv2d, each gathered per element of its result: no atomics, the same bits for any number of threads.
#include <cmath>

#include "kernels/convolution.h"

namespace halyard {
namespace {

// dx: every output that saw a pixel sends its share back. A convolution with stride 1 of dy, which has zeros around it and, for a
// stride above 1, between its elements; those zeros are terms of the sum, as conv2d's padding is.
struct Conv2dDx : Convolution {
    Conv2dDx() : Convolution("conv2d_dx", "x[n,c,h,w] weight[o,c/group,u,v] dy[n,o,oh,ow] -> dx[n,c,h,w]") {
        internal = true;
        variants = {{"any", ""}};
    }
    Func in_x = input("x"), weight = input("weight"), dy = input("dy"), dx = output("dx"), padded{"padded"}, filter{"filter"}, sum{"sum"};  // x: for its shape
    RDom r;

    void algorithm() override {
        const Expr last = size("c") - 1, cg = size("c/group"), og = size("o/group");
        const Expr from_x = x / stride_w, from_y = y / stride_h;  // floors: below 0 stays below 0
        const Expr hit = inside(from_x, from_y, size("ow"), size("oh")) && x % stride_w == 0 && y % stride_h == 0;
        padded(x, y, c, n) = select(hit, dy(clamp(from_x, 0, size("ow") - 1), clamp(from_y, 0, size("oh") - 1), clamp(c, 0, size("o") - 1), n), 0_r);
        const Expr into = clamp(n, 0, last);
        filter(x, y, c, n) = weight(x, y, dense() ? into : into % max(cg, 1), first_of_group(into, cg, og) + c);
        r = RDom(0, size("v"), 0, size("u"), 0, og);
        sum(x, y, c, n) += filter(r.x, r.y, r.z, c) * padded(x + pad_left - r.x * dil_w, y + pad_top - r.y * dil_h, first_of_group(clamp(c, 0, last), cg, og) + r.z, n);
        dx(x, y, c, n) = sum(x, y, c, n);
    }
    void schedule(const Cpu &cpu) override {
        pixel_tiles(cpu, padded, sum, r);
        padded.specialize(stride_w == 1 && stride_h == 1);
        store().specialize(groups == 1);
    }
    void reference(Problem &p) const override {
        const Array &g = p("dy"), &k = p("weight");
        Array &out = p("dx"), &size = p.magnitude["dx"] = Array(out.shape);
        const int64_t per_group = p["c"] / p["group"];
        each_product(p, [&](int64_t i, int64_t o, int64_t oy, int64_t ox, int64_t ch, int64_t iy, int64_t ix, int64_t u, int64_t v, bool real) {
            if (!real) return;
            const double term = k(o, ch % per_group, u, v) * g(i, o, oy, ox);
            out(i, ch, iy, ix) += term;
            size(i, ch, iy, ix) += std::fabs(term);
        });
    }
};

// dweight: x correlated with dy. Blocks of images are summed apart, then added up in their order.
struct Conv2dDweight : Convolution {
    Conv2dDweight() : Convolution("conv2d_dweight", "x[n,c,h,w] weight[o,c/group,u,v] dy[n,o,oh,ow] -> dweight[o,c/group,u,v]") {
        internal = true;
        conditions.push_back("n>=1");
        variants = {{"any", ""}};
    }
    Func in_x = input("x"), weight = input("weight"), dy = input("dy"), dweight = output("dweight"), padded, wide{"wide"}, lane{"lane"}, part{"part"}, total{"total"};  // weight: for its shape
    Var l{"l"}, b{"b"};
    RDom r, rl, rb;
    static constexpr int width = 16, images = 4;  // pixels of a row that are summed apart; images of a block

    void algorithm() override {
        const Expr N = size("n"), ow = size("ow"), last = size("o") - 1;
        padded = zero_outside(in_x, size("w"), size("h"), size("c"));
        wide(x, y, c, n) = select(x < ow, dy(clamp(x, 0, ow - 1), y, clamp(c, 0, last), clamp(n, 0, N - 1)), 0_r);
        r = RDom(0, (ow + width - 1) / width, 0, size("oh"), 0, images);
        rl = RDom(0, width), rb = RDom(0, (N + images - 1) / images);
        r.where(b * images + r.z < N);
        const Expr at = r.x * width + l, image = b * images + r.z, first = first_of_group(clamp(n, 0, last), size("o/group"), size("c/group"));
        lane(l, x, y, c, n, b) += wide(at, r.y, n, image) * padded(at * stride_w + x * dil_w - pad_left, r.y * stride_h + y * dil_h - pad_top, first + c, image);
        part(x, y, c, n, b) += lane(rl, x, y, c, n, b);
        total(x, y, c, n) += part(x, y, c, n, rb);
        dweight(x, y, c, n) = total(x, y, c, n);
    }
    void schedule(const Cpu &cpu) override {
        const int v = cpu.lanes, vectors = width / v;
        const int taps = 3, outs = std::max(1, (cpu.has_avx512() ? 18 : 9) / (vectors * taps));
        Var no, ni, xo, xi;
        padded.compute_root().parallel(c).parallel(n).vectorize(x, v, Tail::RoundUp);
        wide.compute_root().parallel(c).parallel(n).vectorize(x, v, Tail::RoundUp);
        part.compute_root().parallel(n).parallel(b);
        part.update().split(n, no, ni, outs, Tail::GuardWithIf).split(x, xo, xi, taps, Tail::GuardWithIf).reorder(rl, xi, ni, xo, y, c, no, b).atomic().vectorize(rl).parallel(no).parallel(b);
        lane.compute_at(part, xo).bound_extent(l, width).bound_extent(n, outs).bound_extent(x, taps).vectorize(l, v).unroll(l).unroll(x).unroll(n);
        lane.update().reorder(l, x, n, r.x, r.y, r.z).vectorize(l, v).unroll(l).unroll(x).unroll(n);
        lane.update().specialize(groups == 1 && stride_w == 1 && dil_w == 1);
        store().parallel(var(3));
        total.compute_at(store(), var(3));
        total.update().reorder(x, y, c, n, rb);
    }
    void reference(Problem &p) const override {
        const Array &in = p("x"), &g = p("dy");
        Array &out = p("dweight"), &size = p.magnitude["dweight"] = Array(out.shape);
        const int64_t per_group = p["c"] / p["group"];
        each_product(p, [&](int64_t i, int64_t o, int64_t oy, int64_t ox, int64_t ch, int64_t iy, int64_t ix, int64_t u, int64_t v, bool real) {
            const double term = g(i, o, oy, ox) * (real ? in(i, ch, iy, ix) : 0);
            out(o, ch % per_group, u, v) += term;
            size(o, ch % per_group, u, v) += std::fabs(term);
        });
    }
};

}  // namespace

HALYARD_OPS {
    ops.add<Conv2dDx>();
    ops.add<Conv2dDweight>();
}

}  // namespace halyard
