#include "nn/conv.h"

#include <cmath>

#include "primitives/ops.h"

namespace halyard::nn {
namespace {

template<int N> void check(const std::string &layer, int64_t in_channels, int64_t out_channels, const Sizes<N> &kernel, const ConvOptions<N> &o) {
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
    check_padding(layer, o.pad_mode, o.padding);
    check_data_format<N>(layer, o.data_format);
}

}  // namespace

template<int N> Conv<N>::Conv(int64_t in_channels, int64_t out_channels, Sizes<N> kernel, const ConvOptions<N> &o)
    : stride_(o.stride.ints()), padding_(o.padding.ints()), dilation_(o.dilation.ints()), group_(o.group), pad_mode_(o.pad_mode), data_format_(o.data_format) {
    check(with_rank<N>("Conv"), in_channels, out_channels, kernel, o);
    const int64_t in = in_channels / o.group;
    const bool channels_last = o.data_format == "NHWC";
    Shape shape{out_channels};
    if (!channels_last) shape.push_back(in);
    if (N == 1) shape.push_back(1);
    for (const int64_t k : kernel.v) shape.push_back(k);
    if (channels_last) shape.push_back(in);
    const Uniform by_fan(1 / std::sqrt((double)(in * kernel.product())));
    weight = parameter("weight", initializer(o.weight_init.otherwise(by_fan), shape));
    if (o.has_bias) bias = parameter("bias", initializer(o.bias_init.otherwise(by_fan), {out_channels}));
}

template<int N> Tensor Conv<N>::construct(const Tensor &x) const {
    Tensor y;
    if constexpr (N == 1) {
        const Shape &s = weight.shape();
        y = F::conv1d(x, F::reshape(computed(weight), {s[0], s[1], s[3]}), stride_, pad_mode_, padding_, dilation_, group_);
    }
    if constexpr (N == 2) y = F::conv2d(x, computed(weight), stride_, pad_mode_, padding_, dilation_, group_, data_format_);
    if constexpr (N == 3) y = F::conv3d(x, computed(weight), stride_, pad_mode_, padding_, dilation_, group_);
    return bias.defined() ? F::bias_add(y, computed(bias), data_format_ == "NHWC" ? "NHWC" : "NCHW") : y;
}

template class Conv<1>;
template class Conv<2>;
template class Conv<3>;

}  // namespace halyard::nn
