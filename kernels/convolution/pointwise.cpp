// Filters of 1 x 1 with stride 1: a product of the matrices as they are stored. A map is one row of
// pixels, which are the vectors.
#include "kernels/convolution/conv2d.h"

namespace halyard {
namespace {

const Tunable tile_v{"tile_v"}, outs{"outs"};  // vectors of pixels, and channels, of a tile

DimExpr fits_a_tile() {
    const ConvolutionDims &d = Convolution::d;
    return d.u == 1 && d.v == 1 && d.stride_h == 1 && d.stride_w == 1 && d.group == 1 && d.h == 1 &&
           d.oh == 1 && d.ow == d.w && d.w >= tile_v * lanes;
}

// Large maps have three vectors of pixels and fewer channels in a register tile.
DimExpr is_large() {
    return Convolution::d.w >= 1024;
}

// The schedule of both. The times beside oneDNN's: docs/kernel_measurements.md, "Pointwise".
template<class O> class Pointwise : public ConvolutionVariant<O> {
public:
    Pointwise(O &op, bool wide) : ConvolutionVariant<O>(op), wide_(wide) {}
    void schedule(const Cpu &cpu) override;
    using Implementation::schedule;

protected:
    Halide::Func sum{"sum"};
    Halide::RDom r;

private:
    bool wide_;
};

template<class O> void Pointwise<O>::schedule(const Cpu &cpu) {
    using Tail = Halide::TailStrategy;
    using Halide::Var;
    this->op.from_zero();
    Halide::Func o = this->store();
    const int across = cpu.lanes * cpu.pick(tile_v, {wide_ ? 3 : 2});
    const bool has_avx2 = cpu.target.has_feature(Halide::Target::AVX2);
    const int of_16_registers = has_avx2 && !wide_ ? 6 : 4;
    const int channels = cpu.pick(outs, {!cpu.has_32_registers() ? of_16_registers
                                         : wide_                 ? 8
                                                                 : 12});
    const Var x("x"), c("c");
    Var xo, xi, co, ci;
    const Var px = this->var(0), py = this->var(1), pc = this->var(2), pn = this->var(3);
    o.split(px, xo, xi, across, Tail::ShiftInwards)
        .split(pc, co, ci, channels, Tail::ShiftInwards)
        .reorder(xi, ci, xo, co, py, pn);
    o.vectorize(xi, cpu.lanes).unroll(xi).unroll(ci);
    // The last block of channels overlaps the one before it, which another task computes: both
    // write the same bits there, but ThreadSanitizer reports a race.
    if (!cpu.target.has_feature(Halide::Target::TSAN)) o.parallel(co);
    o.parallel(pn);
    sum.compute_at(o, xo)
        .bound_extent(x, across)
        .bound_extent(c, channels)
        .vectorize(x, cpu.lanes)
        .unroll(x)
        .unroll(c);
    sum.update().reorder(x, c, r.x).vectorize(x, cpu.lanes).unroll(x).unroll(c);
}

class Forward : public Pointwise<Conv2d> {
public:
    using Pointwise::Pointwise;
    void algorithm(const Build &) override {
        r = RDom(0, size(d.c));
        sum(x, y, c, n) += op.weight(0, 0, r, c) * op.in_x(x, y, r, n);
        op.out_y(x, y, c, n) = op.epilogue(sum(x, y, c, n));
    }
};

class Dx : public Pointwise<Conv2dDx> {
public:
    using Pointwise::Pointwise;
    void algorithm(const Build &) override {
        r = RDom(0, size(d.o));
        sum(x, y, c, n) += op.weight(0, 0, c, r) * op.dy(x, y, r, n);
        op.dx(x, y, c, n) = sum(x, y, c, n);
    }
};

}  // namespace

Variant pointwise(Conv2d &op) {
    return variant_of<Forward>(op, "pointwise", fits_a_tile() && op.d.o >= outs, false);
}
Variant pointwise_wide(Conv2d &op) {
    return variant_of<Forward>(op, "pointwise_wide", fits_a_tile() && op.d.o >= outs && is_large(),
                               true);
}
Variant pointwise(Conv2dDx &op) {
    return variant_of<Dx>(op, "pointwise", fits_a_tile() && op.d.c >= outs, false);
}
Variant pointwise_wide(Conv2dDx &op) {
    return variant_of<Dx>(op, "pointwise_wide", fits_a_tile() && op.d.c >= outs && is_large(),
                          true);
}

}  // namespace halyard
