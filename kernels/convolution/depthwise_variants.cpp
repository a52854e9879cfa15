// conv2d and its gradients with a filter per channel (depthwise.h).
#include "kernels/convolution/conv2d.h"
#include "kernels/convolution/depthwise.h"

namespace halyard {
namespace {

// Returns true if a vector that reads beyond a row may be masked. 16 lanes of f32 mean AVX-512;
// exact mode stores no f32.
bool masks(const Build &build) {
    return build.stores(DType::f32) && build.lanes == 16;
}

// A side of 0 stands for any size. One input channel with many filters is left to the variants of
// direct.cpp, which are faster:
// docs/kernel_measurements.md, "Depthwise".
DimExpr is_depthwise(int side, int stride) {
    const ConvolutionDims &d = Convolution::d;
    const DimExpr fits = d.c == d.group && (d.o == d.group || d.group > 1) &&
                         d.stride_h == stride && d.stride_w == stride;
    if (side == 0) return fits;
    return fits && d.u == side && d.v == side && d.dil_h == 1 && d.dil_w == 1;
}

std::string name_of(int side, int stride) {
    std::string name = "depthwise";
    if (side > 0) name += "_" + std::to_string(side) + "x" + std::to_string(side);
    if (stride > 1) name += (side > 0 ? "s" : "_s") + std::to_string(stride);
    return name;
}

class Forward : public ConvolutionVariant<Conv2d> {
public:
    Forward(Conv2d &op, int side, int stride)
        : ConvolutionVariant(op), side_(side), stride_(stride) {}
    void algorithm(const Build &build) override {
        const Expr last = size(d.o) - 1;
        Func image("image"), taps("taps");
        image(x, y, c, n) = op.in_x(x, y, clamp(c, 0, last) / max(size(d.o / d.group), 1), n);
        taps(x, y, c) = op.weight(x, y, 0, clamp(c, 0, last));
        const Margin across = {size(d.w), pad_left};
        const Margin down = {size(d.h), pad_top};
        const PaddedMap map = masks(build) ? PaddedMap::masked("map", image, across, down)
                                           : PaddedMap("map", image, across, down);
        depthwise.define(map, taps, stride_, side_, {size(d.v), dil_w}, {size(d.u), dil_h},
                         build.lanes);
        op.out_y(x, y, c, n) = op.epilogue(depthwise.at(x, y, c, n));
    }
    void schedule(const Cpu &cpu) override {
        op.from_zero();
        depthwise.schedule(cpu, store(), !op.epilogue_reads_map());
    }
    using Implementation::schedule;

private:
    const int side_, stride_;
    Depthwise depthwise;
};

// dx is the correlation of dy, with stride - 1 zeros between its elements, with the filters rotated
// by 180 degrees.
class Dx : public ConvolutionVariant<Conv2dDx> {
public:
    Dx(Conv2dDx &op, int side, int stride) : ConvolutionVariant(op), side_(side), stride_(stride) {}
    void algorithm(const Build &build) override {
        Func taps("taps");
        taps(x, y, c) = op.weight(size(d.v) - 1 - x, size(d.u) - 1 - y, 0, c);
        const Margin across = {size(d.ow), (size(d.v) - 1) * dil_w - pad_left, stride_};
        const Margin down = {size(d.oh), (size(d.u) - 1) * dil_h - pad_top, stride_};
        const PaddedMap map = masks(build) && stride_ == 1
                                  ? PaddedMap::masked("map", op.dy, across, down)
                                  : PaddedMap("map", op.dy, across, down);
        depthwise.define(map, taps, 1, side_, {size(d.v), dil_w}, {size(d.u), dil_h}, build.lanes);
        op.dx(x, y, c, n) = depthwise.at(x, y, c, n);
    }
    void schedule(const Cpu &cpu) override {
        op.from_zero();
        depthwise.schedule(cpu, store());
    }
    using Implementation::schedule;

private:
    const int side_, stride_;
    Depthwise depthwise;
};

class Dweight : public ConvolutionVariant<Conv2dDweight> {
public:
    Dweight(Conv2dDweight &op, int side, int stride)
        : ConvolutionVariant(op), side_(side), stride_(stride) {}
    void algorithm(const Build &build) override {
        const PaddedMap map("map", op.in_x, {size(d.w), pad_left}, {size(d.h), pad_top});
        const PaddedMap padded_dy("edged", op.dy, {size(d.ow), 0}, {size(d.oh), 0});
        const DepthwiseTaps::Pixels pixels = {size(d.ow), size(d.oh), size(d.n)};
        if (side_) {
            depthwise.define(map, padded_dy, stride_, side_, pixels, build.lanes);
        } else {
            depthwise.define(map, padded_dy, stride_, {size(d.v), dil_w}, {size(d.u), dil_h},
                             pixels, build.lanes);
        }
        op.dweight(x, y, c, n) = depthwise.at(x, y, n);
    }
    void schedule(const Cpu &cpu) override {
        op.from_zero();
        depthwise.schedule(cpu, store());
    }
    using Implementation::schedule;

private:
    const int side_, stride_;
    DepthwiseTaps depthwise;
};

}  // namespace

Variant depthwise(Conv2d &op, int side, int stride) {
    return variant_of<Forward>(op, name_of(side, stride), is_depthwise(side, stride), side, stride);
}
Variant depthwise(Conv2dDx &op, int side, int stride) {
    return variant_of<Dx>(op, name_of(side, stride),
                          is_depthwise(side, stride) && op.d.o == op.d.group, side, stride);
}
Variant depthwise(Conv2dDweight &op, int side, int stride) {
    return variant_of<Dweight>(op, name_of(side, stride),
                               is_depthwise(side, stride) && op.d.o == op.d.group, side, stride);
}

}  // namespace halyard
