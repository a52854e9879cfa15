// conv2d, its fused forms and its gradients, and the variants that compute them.
#pragma once
#include "kernels/convolution/convolution.h"

namespace halyard {

struct Conv2d : Convolution {
    Conv2d();
    Conv2d(const std::string &name, const std::string &signature);
    Func in_x = input("x"), weight = input("weight");
    Func out_y = output("y");

    // Returns what is stored for the convolution's result `value` at (x, y, c, n).
    virtual Expr epilogue(const Expr &value) const { return value; }
    // Returns true if epilogue() reads a tensor of the result's shape.
    virtual bool epilogue_reads_map() const { return false; }

    void schedule(const Ascend &npu) override;
    void reference(Problem &p) const override;
    using Op::schedule;
};

// dx: every output adds its share to the pixels that it read. This is a convolution with stride 1
// of dy, which has zeros around it and, for a stride above 1, between its elements.
struct Conv2dDx : Convolution {
    Conv2dDx();
    Func in_x = input("x");  // only its shape is read
    Func weight = input("weight"), dy = input("dy");
    Func dx = output("dx");

    // Returns dy with zeros around it, and the same with zeros between its elements for a stride
    // above 1.
    Func padded_dy() const { return zero_outside(dy, size(d.ow), size(d.oh), size(d.o)); }
    Func dilated_dy() const;

    void schedule(const Ascend &npu) override;
    void reference(Problem &p) const override;
    using Op::schedule;
};

// dweight: x correlated with dy. Fixed blocks of images are summed separately, then added in their
// order, so the bits don't depend on the number of threads.
//
// In every variant (x, y, c, n) is an element of the filter (v, u, input channel, output channel)
// and b a block of images.
struct Conv2dDweight : Convolution {
    Conv2dDweight();
    Func in_x = input("x");
    Func weight = input("weight");  // only its shape is read
    Func dy = input("dy");
    Func dweight = output("dweight");

    // The pixel that tap (v, u) reads for output pixel (ox, oy).
    Expr at_x(const Expr &ox, const Expr &tap_v) const {
        return ox * stride_w + tap_v * dil_w - pad_left;
    }
    Expr at_y(const Expr &oy, const Expr &tap_u) const {
        return oy * stride_h + tap_u * dil_h - pad_top;
    }

    void schedule(const Ascend &npu) override;
    void reference(Problem &p) const override;
    using Op::schedule;
};

// Each returns one variant; the file of that name has its condition, algorithm and schedule.
// Winograd's F(2x2, 3x3). winograd_small_maps() keeps filters in L1 and has `tiles` tiles of 2 x 2
// pixels in a register tile of AVX-512.
Variant winograd(Conv2d &op);
Variant winograd(Conv2dDx &op);
Variant winograd(Conv2dDweight &op);
Variant winograd_small_maps(Conv2d &op, int tiles);
Variant winograd_small_maps(Conv2dDx &op, int tiles);

// Filters of 1 x 1 with stride 1: a product of matrices. The wide ones have more pixels and fewer
// channels in a register tile.
Variant pointwise(Conv2d &op);
Variant pointwise(Conv2dDx &op);
Variant pointwise_wide(Conv2d &op);
Variant pointwise_wide(Conv2dDx &op);

// The pixels under each tap are copied into the rows of a matrix, by which filters are multiplied.
Variant im2col(Conv2d &op);
Variant im2col(Conv2dDweight &op);
// `side`: of a square filter
Variant im2col(Conv2dDweight &op, int side);

// Register tiles of the sums themselves: pixels in the vector, or output channels, for which
// filters are packed. The narrow ones have one vector of channels in a register tile, those of rows
// are for maps of one row.
Variant direct(Conv2d &op);
Variant direct(Conv2dDx &op);
Variant direct_packed(Conv2d &op);
Variant direct_packed(Conv2dDx &op);
Variant direct_packed_narrow(Conv2d &op);
Variant direct_packed_row(Conv2d &op);
Variant direct_packed_row(Conv2dDx &op);

// A filter per channel, with stride 1 or 2. `side`: of a square filter without dilation, or 0 for
// any filter.
Variant depthwise(Conv2d &op, int side, int stride);
Variant depthwise(Conv2dDx &op, int side, int stride);
Variant depthwise(Conv2dDweight &op, int side, int stride);

// Strides above 1: pixels with the same remainders have the same taps; or what each output adds to
// the pixels under its taps is computed first.
Variant polyphase(Conv2dDx &op);
Variant col2im(Conv2dDx &op);

// Sums over pixels, with images, output channels, taps or pixels in the vector.
Variant images_in_lanes(Conv2dDx &op);
Variant images_in_lanes(Conv2dDweight &op);
Variant channels_in_lanes(Conv2dDweight &op);
Variant taps_in_lanes(Conv2dDweight &op);
Variant direct(Conv2dDweight &op);

// For GPUs: a thread has a tile of sums of pixels and channels, or, in any call, one sum.
Variant thread_tiles(Conv2d &op);
Variant thread_tiles(Conv2dDx &op);
Variant thread_tiles(Conv2dDweight &op);
Variant thread_sums(Conv2d &op);
Variant thread_sums(Conv2dDx &op);
Variant thread_sums(Conv2dDweight &op);

}  // namespace halyard
