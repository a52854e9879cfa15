// conv2d and its gradients by Winograd's transforms (winograd.h).
#include "kernels/convolution/conv2d.h"
#include "kernels/convolution/winograd.h"

namespace halyard {
namespace {

// Filters of 3 x 3 without stride, dilation and groups.
DimExpr is_winograd(const ConvolutionDims &d) {
    return d.u == 3 && d.v == 3 && d.stride_h == 1 && d.stride_w == 1 && d.dil_h == 1 &&
           d.dil_w == 1 && d.group == 1;
}

class Forward : public ConvolutionVariant<Conv2d> {
public:
    using ConvolutionVariant::ConvolutionVariant;
    void algorithm(const Build &build) override {
        const Func padded = op.zero_outside(op.in_x, size(d.w), size(d.h), size(d.c));
        filter(x, y, c, n) = op.weight(x, y, c, clamp(n, 0, size(d.o) - 1));
        winograd.define(padded, filter, -pad_left, -pad_top, size(d.c), build.lanes);
        op.out_y(x, y, c, n) = op.epilogue(winograd.at(x, y, c, n));
    }
    void schedule(const Cpu &cpu) override {
        op.from_zero();
        winograd.schedule(cpu, store());
    }
    using Implementation::schedule;

private:
    Func filter{"filter"};
    Winograd winograd;
};

// dx is a correlation with filters that are rotated by 180 degrees and exchange input and output
// channels.
class Dx : public ConvolutionVariant<Conv2dDx> {
public:
    using ConvolutionVariant::ConvolutionVariant;
    void algorithm(const Build &build) override {
        const Func padded = op.padded_dy();
        rotated(x, y, c, n) = op.weight(2 - x, 2 - y, clamp(n, 0, size(d.c) - 1), c);
        winograd.define(padded, rotated, pad_left - 2, pad_top - 2, size(d.o), build.lanes);
        op.dx(x, y, c, n) = winograd.at(x, y, c, n);
    }
    void schedule(const Cpu &cpu) override {
        op.from_zero();
        winograd.schedule(cpu, store());
    }
    using Implementation::schedule;

private:
    Func rotated{"turned"};
    Winograd winograd;
};

class Dweight : public ConvolutionVariant<Conv2dDweight> {
public:
    using ConvolutionVariant::ConvolutionVariant;
    void algorithm(const Build &build) override {
        const Func padded = op.zero_outside(op.in_x, size(d.w), size(d.h), size(d.c));
        const Func padded_dy = op.zero_outside(op.dy, size(d.ow), size(d.oh), size(d.o));
        winograd.define(padded, padded_dy, -pad_left, -pad_top, size(d.ow), size(d.oh), size(d.n),
                        build.lanes);
        op.dweight(x, y, c, n) = winograd.at(x, y, c, n);
    }
    void schedule(const Cpu &cpu) override {
        op.from_zero();
        winograd.schedule(cpu, store());
    }
    using Implementation::schedule;

private:
    WinogradTaps winograd;
};

// What the result and its gradient by x share: filters of 3 x 3 that are contiguous in memory.
template<class ConvolutionOp> class SmallMapsVariant : public ConvolutionVariant<ConvolutionOp> {
public:
    SmallMapsVariant(ConvolutionOp &op, int tiles)
        : ConvolutionVariant<ConvolutionOp>(op), tiles_(tiles) {}
    void schedule(const Cpu &cpu) override {
        this->op.from_zero();
        this->op.memory[1].dim(1).set_stride(3);
        this->op.memory[1].dim(2).set_stride(9);
        winograd.schedule(cpu, this->store(), tiles_);
    }
    using Implementation::schedule;

protected:
    Halide::Func run{"run"};
    Halide::Var k{"k"};
    SmallMapsWinograd winograd;

private:
    const int tiles_;
};

class SmallMaps : public SmallMapsVariant<Conv2d> {
public:
    using SmallMapsVariant::SmallMapsVariant;
    void algorithm(const Build &build) override {
        const int lanes = build.lanes;
        const Func padded = op.zero_outside(op.in_x, size(d.w), size(d.h), size(d.c));
        run(k, n, c) = op.weight(k % 9 % 3, k % 9 / 3, c * lanes + k / 9,
                                 clamp(n, 0, size(d.o) - 1));
        winograd.define(padded, run, lanes, false, -pad_left, -pad_top, size(d.c), size(d.ow),
                        size(d.oh), size(d.n), lanes);
        op.out_y(x, y, c, n) = op.epilogue(winograd.at(x, y, c, n));
    }
};

class SmallMapsDx : public SmallMapsVariant<Conv2dDx> {
public:
    using SmallMapsVariant::SmallMapsVariant;
    void algorithm(const Build &build) override {
        const Func padded = op.padded_dy();
        run(k, n, c) = op.weight(k % 3, k / 3, clamp(n, 0, size(d.c) - 1), c);
        winograd.define(padded, run, 1, true, pad_left - 2, pad_top - 2, size(d.o), size(d.w),
                        size(d.h), size(d.n), build.lanes);
        op.dx(x, y, c, n) = winograd.at(x, y, c, n);
    }
};

// `w`, `h` and `o`: extents of the result and its channels; `channels`: those that are summed.
DimExpr has_small_maps(const ConvolutionDims &d, const DimExpr &channels, const Dim &o,
                       const Dim &w, const Dim &h, const Convolution &op,
                       const Halide::Func &weight) {
    return is_winograd(d) && channels % lanes == 0 && o >= 32 && w >= 4 && h >= 4 &&
           (d.n * h * w <= 1600 || w < 8) && op.stride(weight, 1) == 3 && op.stride(weight, 2) == 9;
}

// The register tile of 7 tiles of 2 x 2 pixels is preferred if it covers all of them exactly.
template<class I, class O>
Variant small_maps(O &op, int tiles, const DimExpr &fits, const Dim &w, const Dim &h) {
    if (tiles != 7) return variant_of<I>(op, "winograd_small_maps", fits, tiles);
    const DimExpr all = op.d.n * ceil_div(w, 2) * ceil_div(h, 2);
    return variant_of<I>(op, "winograd_small_maps_7", fits && all % SmallMapsWinograd::tiles == 0,
                         tiles);
}

}  // namespace

Variant winograd(Conv2d &op) {
    const ConvolutionDims &d = op.d;
    return variant_of<Forward>(op, "winograd",
                               is_winograd(d) && d.c >= 16 && d.o >= 32 && d.ow >= 8 && d.oh >= 8);
}
Variant winograd(Conv2dDx &op) {
    const ConvolutionDims &d = op.d;
    return variant_of<Dx>(op, "winograd",
                          is_winograd(d) && d.o >= 16 && d.c >= 32 && d.w >= 8 && d.h >= 8);
}
Variant winograd(Conv2dDweight &op) {
    const ConvolutionDims &d = op.d;
    return variant_of<Dweight>(op, "winograd",
                               is_winograd(d) && d.c >= 2 * lanes && d.o >= 32 &&
                                   2 * d.n * d.oh * d.ow >= d.c && d.n * d.oh * d.ow <= 16384);
}
Variant winograd_small_maps(Conv2d &op, int tiles) {
    const ConvolutionDims &d = op.d;
    return small_maps<SmallMaps>(op, tiles, has_small_maps(d, d.c, d.o, d.ow, d.oh, op, op.weight),
                                 d.ow, d.oh);
}
Variant winograd_small_maps(Conv2dDx &op, int tiles) {
    const ConvolutionDims &d = op.d;
    return small_maps<SmallMapsDx>(op, tiles, has_small_maps(d, d.o, d.c, d.w, d.h, op, op.weight),
                                   d.w, d.h);
}

}  // namespace halyard
