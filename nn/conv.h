// Convolution layers.
#pragma once
#include "nn/cell.h"
#include "nn/initializer.h"
#include "nn/sizes.h"
#include "primitives/ops/conv2d.h"

namespace halyard::nn {

template<int N> struct ConvOptions {
    Sizes<N> stride = 1;
    // "same", "valid", or "pad", which adds `padding` zeros before and after each dimension.
    F::PadMode pad_mode = F::PadMode::same;
    Paddings<N> padding = 0;  // must be 0 unless pad_mode is "pad"
    Sizes<N> dilation = 1;
    int64_t group = 1;
    bool has_bias = false;
    // An empty initialiser draws from U(-1/sqrt(fan_in), 1/sqrt(fan_in)).
    Initializer weight_init = {}, bias_init = {};
    std::string data_format = channels_first<N>;
};

template<int N> struct ConvTransposeOptions {
    Sizes<N> stride = 1;
    F::PadMode pad_mode = F::PadMode::same;
    Paddings<N> padding = 0;
    // Rows added at the end with pad_mode "pad"; each less than max(stride, dilation).
    Sizes<N> output_padding = 0;
    Sizes<N> dilation = 1;
    int64_t group = 1;
    bool has_bias = false;
    Initializer weight_init = {}, bias_init = {};
};

// The parameters and options that Conv and ConvTranspose share.
class ConvBase : public Cell {
public:
    std::string extend_repr() const override;

    Parameter weight, bias;  // bias[out_channels], undefined without has_bias

protected:
    template<int N, class Options> ConvBase(const std::string &layer, int64_t in_channels,
                                            int64_t out_channels, const Sizes<N> &kernel_size,
                                            const Options &o);
    template<class Options> void draw(const Shape &weight_shape, const Options &o);
    Tensor with_bias(const Tensor &y, const std::string &data_format = "NCHW") const;

    int64_t in_channels_, out_channels_, group_;
    Ints kernel_size_, stride_, padding_, dilation_;
    F::PadMode pad_mode_;
};

// Convolves x[n,in_channels,h,...] with weight[out_channels, in_channels/group, kernel...] to
// [n,out_channels,h',...]. Conv1d's weight has MindSpore's shape [out_channels, in_channels/group,
// 1, kernel_size]. With data_format "NHWC", which only Conv2d has, x is [n,h,w,in_channels] and
// weight [out_channels, kernel_h, kernel_w, in_channels/group].
//
// With pad_mode "same" h' is ceil(h / stride); if the number of padding rows is odd, the larger
// half is at the end. Throws AttrError for wrong options, ShapeError for an input that does not
// fit.
template<int N> class Conv : public ConvBase {
public:
    Conv(int64_t in_channels, int64_t out_channels, Sizes<N> kernel_size,
         const ConvOptions<N> &options = {});
    Tensor construct(const Tensor &x) const override;
    std::string cls_name() const override { return with_rank<N>("Conv"); }

private:
    std::string data_format_;
};

// Computes the gradient of a convolution with respect to its input: x[n,in_channels,h,...] and
// weight[in_channels, out_channels/group, kernel...] give [n,out_channels,h',...].
// Conv1dTranspose's weight has an extent of 1 before the kernel's. With k' = dilation * (k - 1) +
// 1:
//
//   "same"   h' = h * stride
//   "valid"  h' = max((h - 1) * stride + k', h * stride)
//   "pad"    h' = (h - 1) * stride + k' - padding before and after + output_padding
//
// Throws AttrError for wrong options, ShapeError for an input that does not fit.
template<int N> class ConvTranspose : public ConvBase {
public:
    ConvTranspose(int64_t in_channels, int64_t out_channels, Sizes<N> kernel_size,
                  const ConvTransposeOptions<N> &options = {});
    Tensor construct(const Tensor &x) const override;
    std::string cls_name() const override { return with_rank<N>("Conv") + "Transpose"; }

private:
    Ints output_padding_;
};

using Conv1d = Conv<1>;
using Conv2d = Conv<2>;
using Conv3d = Conv<3>;
using Conv1dTranspose = ConvTranspose<1>;
using Conv2dTranspose = ConvTranspose<2>;
using Conv3dTranspose = ConvTranspose<3>;
using Conv2dOptions = ConvOptions<2>;

}  // namespace halyard::nn
