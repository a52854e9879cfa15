#include "nn/conv.h"

#include <cmath>

#include "primitives/ops.h"

namespace halyard::nn {
namespace {

void check(int64_t in_channels, int64_t out_channels, Size2 kernel, const Conv2dOptions &o) {
    constexpr const char *layer = "Conv2d";
    check_least(layer, "in_channels", in_channels, 1);
    check_least(layer, "out_channels", out_channels, 1);
    check_least(layer, "kernel_size", kernel, 1);
    check_least(layer, "stride", o.stride, 1);
    check_least(layer, "dilation", o.dilation, 1);
    check_least(layer, "group", o.group, 1);
    const auto divides = [&](const char *name, int64_t value) {
        if (value % o.group)
            throw AttrError(layer, std::string(name) + " is " + std::to_string(value) + ", expected a multiple of group " + std::to_string(o.group));
    };
    divides("in_channels", in_channels);
    divides("out_channels", out_channels);
    if (o.pad_mode != "same" && o.pad_mode != "valid" && o.pad_mode != "pad")
        throw AttrError(layer, "pad_mode is " + o.pad_mode + ", expected same, valid or pad");
    if (o.pad_mode != "pad" && o.padding.any()) throw AttrError(layer, "padding is not 0, but pad_mode is " + o.pad_mode + ", expected pad");
    if (o.data_format != "NCHW" && o.data_format != "NHWC") throw AttrError(layer, "data_format is " + o.data_format + ", expected NCHW or NHWC");
}

}  // namespace

Conv2d::Conv2d(int64_t in_channels, int64_t out_channels, Size2 kernel, const Conv2dOptions &o)
    : stride_(o.stride.ints()), padding_(o.padding.ints()), dilation_(o.dilation.ints()), group_(o.group), pad_mode_(o.pad_mode), data_format_(o.data_format) {
    check(in_channels, out_channels, kernel, o);
    const int64_t in = in_channels / o.group;
    const bool nchw = o.data_format == "NCHW";
    const Shape shape = nchw ? Shape{out_channels, in, kernel.h, kernel.w} : Shape{out_channels, kernel.h, kernel.w, in};
    const Uniform by_fan(1 / std::sqrt((double)(in * kernel.h * kernel.w)));
    weight = parameter("weight", initializer(o.weight_init.otherwise(by_fan), shape));
    if (o.has_bias) bias = parameter("bias", initializer(o.bias_init.otherwise(by_fan), {out_channels}));
}

Tensor Conv2d::construct(const Tensor &x) const {
    const Tensor y = F::conv2d(x, weight, stride_, pad_mode_, padding_, dilation_, group_, data_format_);
    return bias.defined() ? F::bias_add(y, bias, data_format_) : y;
}

}  // namespace halyard::nn
