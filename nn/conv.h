// Convolution layers.
#pragma once
#include "nn/cell.h"
#include "nn/initializer.h"
#include "nn/size2.h"

namespace halyard::nn {

struct Conv2dOptions {
    Size2 stride = 1;
    std::string pad_mode = "same";  // "same", "valid", or "pad": `padding` zeros at top, bottom, left, right
    Padding2 padding = 0;           // other than 0 only with pad_mode "pad"
    Size2 dilation = 1;
    int64_t group = 1;
    bool has_bias = false;
    Initializer weight_init = {};  // default: U(+-1/sqrt(fan_in)), both
    Initializer bias_init = {};
    std::string data_format = "NCHW";
};

// x[n,in_channels,h,w] -> [n,out_channels,h',w'] in NCHW. Parameters: weight[out_channels, in_channels/group, kh, kw], bias[out_channels].
// "same": h' = ceil(h/stride), of an odd number of padding rows the larger half at the bottom. Throws AttrError, ShapeError.
class Conv2d : public Cell {
public:
    Conv2d(int64_t in_channels, int64_t out_channels, Size2 kernel_size, const Conv2dOptions &options = {});
    Tensor construct(const Tensor &x) const override;

    Parameter weight, bias;  // bias is undefined without has_bias

private:
    Ints stride_, padding_, dilation_;
    int64_t group_;
    std::string pad_mode_, data_format_;
};

}  // namespace halyard::nn
