#include "examples/mobilenet/mobilenet_v2.h"

#include <algorithm>
#include <cmath>

#include "nn/activation.h"
#include "nn/basic.h"
#include "nn/conv.h"
#include "nn/dense.h"
#include "nn/norm.h"
#include "primitives/operators.h"
#include "primitives/ops/binary.h"
#include "primitives/ops/reduce.h"

namespace halyard::examples {
namespace {

// Returns the multiple of 8 nearest to `channels` that is at least 9/10 of it.
int64_t make_divisible(double channels) {
    const int64_t rounded = std::max<int64_t>(8, int64_t(channels + 4) / 8 * 8);
    return double(rounded) < 0.9 * channels ? rounded + 8 : rounded;
}

nn::Conv2d conv(int64_t in_channel, int64_t out_channel, int64_t kernel_size, int64_t stride,
                int64_t group) {
    const double fan_out = double(kernel_size * kernel_size * out_channel);
    return nn::Conv2d(in_channel, out_channel, kernel_size,
                      {.stride = stride,
                       .pad_mode = "pad",
                       .padding = (kernel_size - 1) / 2,
                       .group = group,
                       .weight_init = nn::Normal(std::sqrt(2 / fan_out))});
}

void append_conv_bn_relu(nn::SequentialCell &cells, int64_t in_channel, int64_t out_channel,
                         int64_t kernel_size, int64_t stride = 1, int64_t group = 1) {
    cells.append(conv(in_channel, out_channel, kernel_size, stride, group))
        .append(nn::BatchNorm2d(out_channel))
        .append(nn::ReLU6());
}

}  // namespace

InvertedResidual::InvertedResidual(int64_t in_channel, int64_t out_channel, int64_t stride,
                                   int64_t expand_ratio)
    : use_res_connect_(stride == 1 && in_channel == out_channel) {
    const int64_t hidden = in_channel * expand_ratio;
    nn::SequentialCell layers;
    if (expand_ratio != 1) append_conv_bn_relu(layers, in_channel, hidden, 1);
    append_conv_bn_relu(layers, hidden, hidden, 3, stride, hidden);
    layers.append(conv(hidden, out_channel, 1, 1, 1)).append(nn::BatchNorm2d(out_channel));
    conv_ = child("conv", layers);
}

Tensor InvertedResidual::construct(const Tensor &x) const {
    return use_res_connect_ ? conv_(x) + x : conv_(x);
}

MobileNetV2::MobileNetV2(int64_t num_classes, double width_mult) {
    if (!(width_mult > 0)) {
        throw AttrError("MobileNetV2",
                        "width_mult is " + std::to_string(width_mult) + ", expected more than 0");
    }
    struct Stage {
        int64_t expand_ratio, channels, repeats, stride;
    };
    const Stage stages[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                            {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
    int64_t in_channel = make_divisible(32 * width_mult);
    const int64_t last_channel = make_divisible(1280 * std::max(1.0, width_mult));
    nn::SequentialCell features;
    append_conv_bn_relu(features, 3, in_channel, 3, 2);
    for (const Stage &s : stages) {
        const int64_t out_channel = make_divisible(double(s.channels) * width_mult);
        for (int64_t i = 0; i < s.repeats; i++) {
            features.append(
                InvertedResidual(in_channel, out_channel, i == 0 ? s.stride : 1, s.expand_ratio));
            in_channel = out_channel;
        }
    }
    append_conv_bn_relu(features, in_channel, last_channel, 1);
    features_ = child("features", features);
    head_ = child("head",
                  nn::SequentialCell({nn::Dropout(0.2), nn::Dense(last_channel, num_classes,
                                                                  nn::Normal(0.01), "zeros")}));
}

Tensor MobileNetV2::construct(const Tensor &x) const {
    return head_(F::reduce_mean(features_(x), {2, 3}));
}

}  // namespace halyard::examples
