#include "nn/conv.h"

#include <cmath>

#include "primitives/ops/channels.h"
#include "primitives/ops/conv1d_conv3d.h"
#include "primitives/ops/conv2d.h"
#include "primitives/ops/shapes.h"

namespace halyard::nn {
namespace {

// Removes the extent of 1 from a Conv1d weight, which F::conv1d does not take.
Tensor without_one(const Tensor &weight) {
    return F::reshape(weight, {weight.size(0), weight.size(1), weight.size(3)});
}

// Returns the shape of a weight. In one dimension it has an extent of 1 before the kernel's.
Shape weight_shape(int64_t first, int64_t second, const Ints &kernel) {
    Shape shape{first, second};
    if (kernel.size() == 1) shape.push_back(1);
    for (const int64_t k : kernel)
        shape.push_back(k);
    return shape;
}

}  // namespace

template<int N, class Options>
ConvBase::ConvBase(const std::string &layer, int64_t in_channels, int64_t out_channels,
                   const Sizes<N> &kernel, const Options &o)
    : in_channels_(in_channels), out_channels_(out_channels), group_(o.group),
      kernel_size_(kernel.ints()), stride_(o.stride.ints()), padding_(o.padding.ints()),
      dilation_(o.dilation.ints()), pad_mode_(o.pad_mode) {
    check_min(layer, "in_channels", in_channels, 1);
    check_min(layer, "out_channels", out_channels, 1);
    check_min(layer, "kernel_size", kernel, 1);
    check_min(layer, "stride", o.stride, 1);
    check_min(layer, "dilation", o.dilation, 1);
    check_min(layer, "group", o.group, 1);
    const auto divides = [&](const char *name, int64_t value) {
        if (value % o.group) {
            throw AttrError(layer, std::string(name) + " is " + std::to_string(value) +
                                       ", expected a multiple of group " + std::to_string(o.group));
        }
    };
    divides("in_channels", in_channels);
    divides("out_channels", out_channels);
    check_padding(layer, o.pad_mode, o.padding);
}

// fan_in is the number of elements for each index of the weight's first dimension.
template<class Options> void ConvBase::draw(const Shape &shape, const Options &o) {
    const Uniform by_fan(1 / std::sqrt(double(shape.elements() / shape[0])));
    weight = parameter("weight", initializer(o.weight_init.otherwise(by_fan), shape));
    if (o.has_bias)
        bias = parameter("bias", initializer(o.bias_init.otherwise(by_fan), {out_channels_}));
}

Tensor ConvBase::with_bias(const Tensor &y, const std::string &data_format) const {
    return bias.defined() ? F::bias_add(y, computed(bias), data_format) : y;
}

std::string ConvBase::extend_repr() const {
    return "input_channels=" + std::to_string(in_channels_) +
           ", output_channels=" + std::to_string(out_channels_) +
           ", kernel_size=" + in_brackets(kernel_size_) + ", stride=" + in_brackets(stride_) +
           ", pad_mode=" + pad_mode_.text() + ", padding=" + in_brackets(padding_) +
           ", dilation=" + in_brackets(dilation_) + ", group=" + std::to_string(group_) +
           ", has_bias=" + (bias.defined() ? "True" : "False");
}

template<int N>
Conv<N>::Conv(int64_t in_channels, int64_t out_channels, Sizes<N> kernel, const ConvOptions<N> &o)
    : ConvBase(with_rank<N>("Conv"), in_channels, out_channels, kernel, o),
      data_format_(o.data_format) {
    check_data_format<N>(with_rank<N>("Conv"), o.data_format);
    const int64_t in = in_channels / group_;
    draw(o.data_format == "NHWC" ? Shape{out_channels, kernel_size_[0], kernel_size_[1], in}
                                 : weight_shape(out_channels, in, kernel_size_),
         o);
}

template<int N> Tensor Conv<N>::construct(const Tensor &x) const {
    const Tensor w = computed(weight);
    if constexpr (N == 1) {
        return with_bias(
            F::conv1d(x, without_one(w), stride_, pad_mode_, padding_, dilation_, group_));
    } else if constexpr (N == 2) {
        return with_bias(
            F::conv2d(x, w, stride_, pad_mode_, padding_, dilation_, group_, data_format_),
            data_format_);
    } else
        return with_bias(F::conv3d(x, w, stride_, pad_mode_, padding_, dilation_, group_));
}

template<int N> ConvTranspose<N>::ConvTranspose(int64_t in_channels, int64_t out_channels,
                                                Sizes<N> kernel, const ConvTransposeOptions<N> &o)
    : ConvBase(with_rank<N>("Conv") + "Transpose", in_channels, out_channels, kernel, o),
      output_padding_(o.output_padding.ints()) {
    const std::string layer = with_rank<N>("Conv") + "Transpose";
    check_min(layer, "output_padding", o.output_padding, 0);
    if (o.output_padding.any() && o.pad_mode != F::PadMode::pad) {
        throw AttrError(layer, "output_padding is not 0, but pad_mode is " + o.pad_mode.text() +
                                   ", expected pad");
    }
    draw(weight_shape(in_channels, out_channels / group_, kernel_size_), o);
}

template<int N> Tensor ConvTranspose<N>::construct(const Tensor &x) const {
    const Tensor w = computed(weight);
    if constexpr (N == 1) {
        return with_bias(F::conv1d_transpose(x, without_one(w), stride_, pad_mode_, padding_,
                                             dilation_, group_, output_padding_));
    } else if constexpr (N == 2) {
        return with_bias(F::conv2d_transpose(x, w, stride_, pad_mode_, padding_, dilation_, group_,
                                             output_padding_));
    } else {
        return with_bias(F::conv3d_transpose(x, w, stride_, pad_mode_, padding_, dilation_, group_,
                                             output_padding_));
    }
}

template class Conv<1>;
template class Conv<2>;
template class Conv<3>;
template class ConvTranspose<1>;
template class ConvTranspose<2>;
template class ConvTranspose<3>;

}  // namespace halyard::nn
