// Pooling layers: x[n,c,h,...] gives [n,c,h',...]. Constructors throw AttrError for wrong options,
// calls ShapeError for an input that does not fit.
#pragma once
#include <optional>

#include "nn/cell.h"
#include "nn/sizes.h"
#include "primitives/ops/max_pool2d.h"

namespace halyard::nn {

template<int N> struct PoolOptions {
    Sizes<N> kernel_size = 1;
    Sizes<N> stride = 1;
    // "same", "valid", or "pad", which adds `padding` before and after each dimension.
    F::PadMode pad_mode = F::PadMode::valid;
    Paddings<N> padding = 0;
    std::string data_format = channels_first<N>;
    bool ceil_mode = false;  // if true, the last window may extend beyond the end
};

template<int N> struct MaxPoolOptions {
    Sizes<N> kernel_size = 1;
    Sizes<N> stride = 1;
    F::PadMode pad_mode = F::PadMode::valid;  // as in PoolOptions
    Paddings<N> padding = 0;
    std::string data_format = channels_first<N>;
    bool ceil_mode = false;
    Sizes<N> dilation = 1;        // the distance of neighbouring elements of a window
    bool return_indices = false;  // if true, call() returns the indices of the maxima, too
};

// Padding is never the maximum. The first of several equal maxima gets the gradient. Indices are
// i32, places in the map of a channel: row * w + column. MaxUnpool takes them.
template<int N> class MaxPool : public Cell {
public:
    explicit MaxPool(const MaxPoolOptions<N> &options = {});
    Tensor construct(const Tensor &x) const override;
    std::vector<Tensor> construct(Tensors in) const override;
    std::string cls_name() const override { return with_rank<N>("MaxPool"); }
    std::string extend_repr() const override;

private:
    MaxPoolOptions<N> options_;
};

template<int N> struct MaxUnpoolOptions {
    Sizes<N> kernel_size = 1;
    std::optional<Sizes<N>> stride = {};  // the kernel's size, if none is given
    Paddings<N> padding = 0;
};

// Undoes MaxPool: y is 0 except y[index] = x. The options are those of the pool that returned the
// indices. From them follows the smallest size that the map may have had; construct() with a size
// sets another one.
template<int N> class MaxUnpool : public Cell {
public:
    explicit MaxUnpool(const MaxUnpoolOptions<N> &options = {});
    Tensor construct(const Tensor &x, const Tensor &indices) const override;
    Tensor construct(const Tensor &x, const Tensor &indices, const Ints &output_size) const;
    std::string cls_name() const override { return with_rank<N>("MaxUnpool"); }
    std::string extend_repr() const override;

private:
    MaxUnpoolOptions<N> options_;
};

// With pad_mode "same" a sum is divided by the number of elements without padding, with "pad" by
// the window's size unless count_include_pad is false. A divisor_override other than 0 replaces
// both.
template<int N> class AvgPool : public Cell {
public:
    explicit AvgPool(const PoolOptions<N> &options = {}, bool count_include_pad = true,
                     int64_t divisor_override = 0);
    Tensor construct(const Tensor &x) const override;
    std::string cls_name() const override { return with_rank<N>("AvgPool"); }
    std::string extend_repr() const override;

private:
    PoolOptions<N> options_;
    bool count_include_pad_;
    int64_t divisor_override_;
};

// Window i of output_size o covers [floor(i h / o), ceil((i + 1) h / o)) of an extent h.
template<int N> class AdaptiveAvgPool : public Cell {
public:
    explicit AdaptiveAvgPool(Sizes<N> output_size);
    Tensor construct(const Tensor &x) const override;
    std::string cls_name() const override { return with_rank<N>("AdaptiveAvgPool"); }
    std::string extend_repr() const override;

private:
    Ints output_size_;
};

template<int N> class AdaptiveMaxPool : public Cell {
public:
    explicit AdaptiveMaxPool(Sizes<N> output_size);
    Tensor construct(const Tensor &x) const override;
    std::string cls_name() const override { return with_rank<N>("AdaptiveMaxPool"); }
    std::string extend_repr() const override;

private:
    Ints output_size_;
};

// Computes the mean of x[n,c,...] over all dimensions but the first two. With keep_dims these stay,
// with extent 1.
class GlobalAvgPool : public Cell {
public:
    explicit GlobalAvgPool(bool keep_dims = false) : keep_dims_(keep_dims) {}
    Tensor construct(const Tensor &x) const override;

private:
    bool keep_dims_;
};

using MaxPool1d = MaxPool<1>;
using MaxPool2d = MaxPool<2>;
using MaxPool3d = MaxPool<3>;
using MaxUnpool1d = MaxUnpool<1>;
using MaxUnpool2d = MaxUnpool<2>;
using MaxUnpool3d = MaxUnpool<3>;
using AvgPool1d = AvgPool<1>;
using AvgPool2d = AvgPool<2>;
using AvgPool3d = AvgPool<3>;
using AdaptiveAvgPool1d = AdaptiveAvgPool<1>;
using AdaptiveAvgPool2d = AdaptiveAvgPool<2>;
using AdaptiveAvgPool3d = AdaptiveAvgPool<3>;
using AdaptiveMaxPool1d = AdaptiveMaxPool<1>;
using AdaptiveMaxPool2d = AdaptiveMaxPool<2>;
using AdaptiveMaxPool3d = AdaptiveMaxPool<3>;
using Pool2dOptions = PoolOptions<2>;

}  // namespace halyard::nn
