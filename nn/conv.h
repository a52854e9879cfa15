// Convolution layers. Parameters: weight[out_channels, in_channels/group, kernel...], bias[out_channels].
#pragma once
#include "nn/cell.h"
#include "nn/initializer.h"
#include "nn/sizes.h"

namespace halyard::nn {

template<int N> struct ConvOptions {
    Sizes<N> stride = 1;
    std::string pad_mode = "same";  // "same", "valid", or "pad": `padding` zeros before and after each dimension
    Paddings<N> padding = 0;        // other than 0 only with pad_mode "pad"
    Sizes<N> dilation = 1;
    int64_t group = 1;
    bool has_bias = false;
    Initializer weight_init = {};  // default: U(+-1/sqrt(fan_in)), both
    Initializer bias_init = {};
    std::string data_format = channels_first<N>;
};

// x[n,in_channels,h...] -> [n,out_channels,h'...].
// "same": h' = ceil(h/stride), of an odd number of padding rows the larger half at the end. Throws AttrError, ShapeError.
// Conv1d's weight is MindSpore's, [out_channels, in_channels/group, 1, kernel_size].
// NHWC: x[n,h,w,in_channels], weight[out_channels, kernel_h, kernel_w, in_channels/group].
template<int N> class Conv : public Cell {
public:
    Conv(int64_t in_channels, int64_t out_channels, Sizes<N> kernel_size, const ConvOptions<N> &options = {});
    Tensor construct(const Tensor &x) const override;
    std::string cls_name() const override { return with_rank<N>("Conv"); }

    Parameter weight, bias;  // bias is undefined without has_bias

private:
    Ints stride_, padding_, dilation_;
    int64_t group_;
    std::string pad_mode_, data_format_;
};
using Conv1d = Conv<1>;
using Conv2d = Conv<2>;
using Conv3d = Conv<3>;
using Conv2dOptions = ConvOptions<2>;

}  // namespace halyard::nn
