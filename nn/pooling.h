// Pooling layers. x[n,c,h...] -> [n,c,h'...]. Each throws AttrError, ShapeError.
#pragma once
#include "nn/cell.h"
#include "nn/sizes.h"

namespace halyard::nn {

template<int N> struct PoolOptions {
    Sizes<N> kernel_size = 1;
    Sizes<N> stride = 1;
    // "same", "valid", or "pad": `padding` before and after each dimension
    std::string pad_mode = "valid";
    Paddings<N> padding = 0;
    std::string data_format = channels_first<N>;
    bool ceil_mode = false;  // a last window may hang over the end
};

// The padding never wins; of equal maxima the first gets the gradient.
template<int N> class MaxPool : public Cell {
public:
    explicit MaxPool(const PoolOptions<N> &options = {});
    Tensor construct(const Tensor &x) const override;
    std::string cls_name() const override { return with_rank<N>("MaxPool"); }
    std::string extend_repr() const override;

private:
    PoolOptions<N> options_;
};

// "same" divides by the number of elements that exist, "pad" by the window's size unless
// count_include_pad is false, and a divisor_override other than 0 replaces either.
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

// Whatever h is, window i of output_size o covers [floor(i h / o), ceil((i+1) h / o)) of it.
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

// x[n,c,...] -> [n,c], the mean over the rest; with keep_dims each of the rest is 1.
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
