// Convolution layers.
#pragma once
#include "nn/cell.h"
#include "nn/initializer.h"
#include "nn/sizes.h"

namespace halyard::nn {

template<int N> struct ConvOptions {
    Sizes<N> stride = 1;
    // "same", "valid", or "pad": `padding` zeros before and after each dimension
    std::string pad_mode = "same";
    Paddings<N> padding = 0;  // other than 0 only with pad_mode "pad"
    Sizes<N> dilation = 1;
    int64_t group = 1;
    bool has_bias = false;
    Initializer weight_init = {};  // default: U(+-1/sqrt(fan_in)), both
    Initializer bias_init = {};
    std::string data_format = channels_first<N>;
};

template<int N> struct ConvTransposeOptions {
    Sizes<N> stride = 1;
    std::string pad_mode = "same";
    Paddings<N> padding = 0;
    // more rows at the end, with pad_mode "pad"; each below max(stride, dilation)
    Sizes<N> output_padding = 0;
    Sizes<N> dilation = 1;
    int64_t group = 1;
    bool has_bias = false;
    Initializer weight_init = {}, bias_init = {};
};

// What both directions have in common.
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
    std::string pad_mode_;
};

// x[n,in_channels,h...] -> [n,out_channels,h'...] by weight[out_channels, in_channels/group,
// kernel...]. "same": h' = ceil(h/stride), of an odd number of padding rows the larger half at the
// end. Throws AttrError, ShapeError. Conv1d's weight is MindSpore's, [out_channels,
// in_channels/group, 1, kernel_size]. NHWC, of Conv2d alone: x[n,h,w,in_channels],
// weight[out_channels, kernel_h, kernel_w, in_channels/group].
template<int N> class Conv : public ConvBase {
public:
    Conv(int64_t in_channels, int64_t out_channels, Sizes<N> kernel_size,
         const ConvOptions<N> &options = {});
    Tensor construct(const Tensor &x) const override;
    std::string cls_name() const override { return with_rank<N>("Conv"); }

private:
    std::string data_format_;
};

// The adjoint of a convolution in its input: x[n,in_channels,h...] -> [n,out_channels,h'...], where
// with k' = dilation (k - 1) + 1
//   "same": h' = h stride    "valid": h' = (h - 1) stride + k', at least h stride    "pad": (h - 1)
//   stride + k' - padding + output_padding
// by weight[in_channels, out_channels/group, kernel...], Conv1dTranspose's with an extent of 1
// before the kernel's. Throws AttrError, ShapeError.
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
