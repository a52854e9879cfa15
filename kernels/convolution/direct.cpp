// Direct convolution: register tiles of the sums themselves (convolution_tiles.cpp). `direct` has
// pixels in the vector and takes every call; `direct_packed` has output channels, for which it
// packs filters.
#include "kernels/convolution/conv2d.h"
#include "kernels/convolution/padded_map.h"

namespace halyard {
namespace {

// Returns true if a vector that reads beyond a row may be masked: with AVX-512 and 32 bits, but not
// in exact mode.
bool masks(const Build &build) {
    return build.stores(DType::f32) && build.lanes == 16;
}

// The sums of conv2d, whose image `padded` has pixel (0, 0) at (before, above).
class DirectForward : public ConvolutionVariant<Conv2d> {
public:
    using ConvolutionVariant::ConvolutionVariant;

protected:
    Func padded, filter{"filter"}, sum{"sum"};
    RDom r;

    void sum_products(const Expr &first, const Expr &before, const Expr &above) {
        filter(x, y, c, n) = op.weight(x, y, c, clamp(n, 0, size(d.o) - 1));
        r = RDom(0, size(d.v), 0, size(d.u), 0, size(d.c / d.group));
        sum(x, y, c, n) += filter(r.x, r.y, r.z, c) * padded(x * stride_w + r.x * dil_w - before,
                                                             y * stride_h + r.y * dil_h - above,
                                                             first + r.z, n);
        op.out_y(x, y, c, n) = op.epilogue(sum(x, y, c, n));
    }
};

class Direct : public DirectForward {
public:
    using DirectForward::DirectForward;
    void algorithm(const Build &) override {
        padded = op.zero_outside(op.in_x, size(d.w), size(d.h), size(d.c));
        sum_products(
            op.first_of_group(clamp(c, 0, size(d.o) - 1), size(d.o / d.group), size(d.c / d.group)),
            pad_left, pad_top);
    }
    void schedule(const Cpu &cpu) override {
        op.from_zero();
        op.pixel_tiles(cpu, padded, sum, r);
        store().specialize(op.groups == 1 && stride_w == 1 && dil_w == 1);
        store().specialize(op.groups == 1 && stride_w == 2 && dil_w == 1);
        store().specialize(stride_w == 1 && dil_w == 1);
        store().specialize(op.groups == 1);
    }
    using Implementation::schedule;
};

class DirectPacked : public DirectForward {
public:
    enum class Form { wide, narrow, row };
    DirectPacked(Conv2d &op, Form form) : DirectForward(op), form_(form) {}
    void algorithm(const Build &build) override {
        if (!masks(build)) {
            padded = op.zero_outside(op.in_x, size(d.w), size(d.h), size(d.c));
            return sum_products(0, pad_left, pad_top);
        }
        Func image("image");
        image(x, y, c, n) = op.in_x(x, y, clamp(c, 0, size(d.c) - 1), n);
        masked = PaddedMap::masked("padded", image, {size(d.w), pad_left}, {size(d.h), pad_top});
        padded = masked.f;
        sum_products(0, 0, 0);
    }
    void schedule(const Cpu &cpu) override {
        op.from_zero();
        if (masked.by_rows) masked.compute_masks(cpu.lanes);
        op.channel_tiles(cpu, tile(cpu), padded, filter, sum, r);
        // With a constant stride the pixels of a tile share an address
        // (docs/kernel_measurements.md, "convolution").
        sum.update().specialize(stride_w == 1);
        sum.update().specialize(stride_w == 2);
    }
    using Implementation::schedule;

private:
    const Form form_;
    PaddedMap masked;

    Convolution::ChannelTile tile(const Cpu &cpu) const {
        switch (form_) {
        case Form::wide: return op.channel_tile(cpu);
        case Form::row: return op.row_tile(cpu);
        case Form::narrow: break;
        }
        return {cpu.pick("vectors", {1}), cpu.pick("tile_x", {cpu.has_32_registers() ? 10 : 5})};
    }
};

// `direct_packed` stores each result with a stride. If a result sums few products, these scattered
// stores dominate, and `direct`, which stores contiguous rows, is faster as long as the row fills
// whole vectors. docs/kernel_measurements.md, "Few products a result".
DimExpr has_enough_products(const ConvolutionDims &d) {
    const DimExpr products = d.c * d.u * d.v;
    return (d.stride_w > 1 && (d.stride_w > 2 || d.dil_w > 1 || products > 32)) || d.ow < 16 ||
           products > 256 || (products > 32 && d.ow * 8 < ceil_div(d.ow, lanes) * lanes * 7);
}

// The sums of conv2d_dx: dy has zeros around it and, for a stride above 1, between its elements.
class DirectDx : public ConvolutionVariant<Conv2dDx> {
public:
    enum class Form { any, packed, packed_row };  // packed ones take one group
    DirectDx(Conv2dDx &op, Form form) : ConvolutionVariant(op), form_(form) {}
    void algorithm(const Build &) override {
        const Expr last = size(d.c) - 1;
        const Expr cg = size(d.c / d.group), og = size(d.o / d.group);
        // Packed forms have stride 1, where dy has no zeros between its elements.
        padded = is_packed() ? op.padded_dy() : op.dilated_dy();
        const Expr into = clamp(n, 0, last);
        filter(x, y, c, n) = op.weight(x, y, is_packed() ? into : into % max(cg, 1),
                                       first(into, cg, og) + c);
        r = RDom(0, size(d.v), 0, size(d.u), 0, og);
        sum(x, y, c, n) += filter(r.x, r.y, r.z, c) *
                           padded(x + pad_left - r.x * dil_w, y + pad_top - r.y * dil_h,
                                  first(clamp(c, 0, last), cg, og) + r.z, n);
        op.dx(x, y, c, n) = sum(x, y, c, n);
    }
    void schedule(const Cpu &cpu) override {
        op.from_zero();
        if (is_packed()) return op.channel_tiles(cpu, tile(cpu), padded, filter, sum, r);
        op.pixel_tiles(cpu, padded, sum, r);
        padded.specialize(stride_w == 1 && stride_h == 1);
        store().specialize(op.groups == 1);
    }
    using Implementation::schedule;

private:
    const Form form_;
    Func padded, filter{"filter"}, sum{"sum"};
    RDom r;

    bool is_packed() const { return form_ != Form::any; }
    Convolution::ChannelTile tile(const Cpu &cpu) const {
        return form_ == Form::packed_row ? op.row_tile(cpu) : op.channel_tile(cpu);
    }

    Expr first(const Expr &k, const Expr &cg, const Expr &og) const {
        return is_packed() ? Expr(0) : op.first_of_group(k, cg, og);
    }
};

}  // namespace

Variant direct(Conv2d &op) {
    return variant_of<Direct>(op, "direct", DimExpr::always());
}
Variant thread_sums(Conv2d &op) {
    return variant_of<Direct>(op, "thread_sums", DimExpr::always());
}
Variant thread_sums(Conv2dDx &op) {
    return variant_of<DirectDx>(op, "thread_sums", DimExpr::always(), DirectDx::Form::any);
}
Variant direct_packed(Conv2d &op) {
    const ConvolutionDims &d = op.d;
    return variant_of<DirectPacked>(
        op, "direct_packed", d.group == 1 && d.o >= 32 && d.ow >= 5 && has_enough_products(d),
        DirectPacked::Form::wide);
}
Variant direct_packed_narrow(Conv2d &op) {
    const ConvolutionDims &d = op.d;
    return variant_of<DirectPacked>(op, "direct_packed_narrow",
                                    d.group == 1 && d.o >= 16 && d.ow >= 5 &&
                                        has_enough_products(d),
                                    DirectPacked::Form::narrow);
}
Variant direct_packed_row(Conv2d &op) {
    const ConvolutionDims &d = op.d;
    return variant_of<DirectPacked>(op, "direct_packed_row",
                                    d.group == 1 && d.oh == 1 && d.ow >= 12 && d.o >= 32 &&
                                        d.c * d.u * d.v >= 32,
                                    DirectPacked::Form::row);
}
Variant direct(Conv2dDx &op) {
    return variant_of<DirectDx>(op, "direct", DimExpr::always(), DirectDx::Form::any);
}
Variant direct_packed(Conv2dDx &op) {
    const ConvolutionDims &d = op.d;
    return variant_of<DirectDx>(op, "direct_packed",
                                d.group == 1 && d.stride_h == 1 && d.stride_w == 1 && d.c >= 32 &&
                                    d.w >= 7,
                                DirectDx::Form::packed);
}
Variant direct_packed_row(Conv2dDx &op) {
    const ConvolutionDims &d = op.d;
    return variant_of<DirectDx>(op, "direct_packed_row",
                                d.group == 1 && d.h == 1 && d.stride_w == 1 && d.w >= 12 &&
                                    d.c >= 32,
                                DirectDx::Form::packed_row);
}

}  // namespace halyard
