#include "examples/resnet/resnet.h"

#include "nn/activation.h"
#include "nn/basic.h"
#include "nn/conv.h"
#include "nn/dense.h"
#include "nn/norm.h"
#include "nn/pooling.h"
#include "nn/sequential.h"
#include "primitives/ops/reduce.h"
#include "registry/base/error.h"

namespace halyard::examples {
namespace {

nn::Conv2d conv(int64_t in_channel, int64_t out_channel, int64_t kernel_size, int64_t stride) {
    return nn::Conv2d(in_channel, out_channel, kernel_size,
                      {.stride = stride, .pad_mode = "same", .padding = 0});
}
nn::Conv2d conv1x1(int64_t in_channel, int64_t out_channel, int64_t stride = 1) {
    return conv(in_channel, out_channel, 1, stride);
}
nn::Conv2d conv3x3(int64_t in_channel, int64_t out_channel, int64_t stride = 1) {
    return conv(in_channel, out_channel, 3, stride);
}
nn::Conv2d conv7x7(int64_t in_channel, int64_t out_channel, int64_t stride = 1) {
    return conv(in_channel, out_channel, 7, stride);
}

// The document omits these functions; they are those of MindSpore's migration sample. The following
// relu, after the shortcut if a block has one, is fused into the batch norm and needs no pass over
// memory.
nn::BatchNorm2d bn(int64_t channel, const char *activation = "relu") {
    return nn::BatchNorm2d(
        channel, {.eps = 1e-4, .momentum = 0.9, .gamma_init = 1, .activation = activation});
}
// The last gamma of a block starts at 0, so that the block is initially the identity.
nn::BatchNorm2d bn_last(int64_t channel) {
    return nn::BatchNorm2d(channel,
                           {.eps = 1e-4, .momentum = 0.9, .gamma_init = 0, .activation = "relu"});
}

nn::SequentialCell down_sample(int64_t in_channel, int64_t out_channel, int64_t stride) {
    return nn::SequentialCell({conv1x1(in_channel, out_channel, stride), bn(out_channel, "")});
}

nn::SequentialCell make_layer(const ResNet::Block &block, int64_t layer_num, int64_t in_channel,
                              int64_t out_channel, int64_t stride) {
    nn::SequentialCell layers;
    layers.append(block(in_channel, out_channel, stride));
    for (int64_t i = 1; i < layer_num; i++)
        layers.append(block(out_channel, out_channel, 1));
    return layers;
}

template<class B> nn::AnyCell make_block(int64_t in_channel, int64_t out_channel, int64_t stride) {
    return B(in_channel, out_channel, stride);
}

}  // namespace

ResidualBlock::ResidualBlock(int64_t in_channel, int64_t out_channel, int64_t stride)
    : stride_(stride) {
    const int64_t channel = out_channel / expansion;
    conv1_ = child("conv1", conv1x1(in_channel, channel));
    bn1_ = child("bn1", bn(channel));
    if (stride_ != 1) {
        e2_ = child("e2",
                    nn::SequentialCell(
                        {conv3x3(channel, channel), bn(channel),
                         nn::MaxPool2d({.kernel_size = 2, .stride = 2, .pad_mode = "same"})}));
    } else {
        conv2_ = child("conv2", conv3x3(channel, channel));
        bn2_ = child("bn2", bn(channel));
    }
    conv3_ = child("conv3", conv1x1(channel, out_channel));
    bn3_ = child("bn3", bn_last(out_channel));
    if (stride != 1 || in_channel != out_channel) {
        down_sample_layer_ = child("down_sample_layer",
                                   down_sample(in_channel, out_channel, stride));
    }
}

Tensor ResidualBlock::construct(const Tensor &x) const {
    Tensor out = bn1_(conv1_(x));
    out = stride_ != 1 ? e2_(out) : bn2_(conv2_(out));
    out = conv3_(out);
    const Tensor identity = down_sample_layer_ ? down_sample_layer_(x) : x;
    return bn3_(out, identity);
}

ResidualBlockBase::ResidualBlockBase(int64_t in_channel, int64_t out_channel, int64_t stride) {
    conv1_ = child("conv1", conv3x3(in_channel, out_channel, stride));
    bn1d_ = child("bn1d", bn(out_channel));
    conv2_ = child("conv2", conv3x3(out_channel, out_channel));
    bn2d_ = child("bn2d", bn(out_channel, ""));
    relu_ = nn::ReLU();
    if (stride != 1 || in_channel != out_channel) {
        down_sample_layer_ = child("down_sample_layer",
                                   down_sample(in_channel, out_channel, stride));
    }
}

Tensor ResidualBlockBase::construct(const Tensor &x) const {
    Tensor out = bn1d_(conv1_(x));
    out = bn2d_(conv2_(out));
    const Tensor identity = down_sample_layer_ ? down_sample_layer_(x) : x;
    out = out + identity;
    return relu_(out);
}

ResNet::ResNet(const Block &block, const std::vector<int64_t> &layer_nums,
               const std::vector<int64_t> &in_channels, const std::vector<int64_t> &out_channels,
               const std::vector<int64_t> &strides, int64_t num_classes) {
    const auto four = [](const char *name, const std::vector<int64_t> &list) {
        if (list.size() != 4) {
            throw AttrError("ResNet", std::string(name) + " has " + std::to_string(list.size()) +
                                          " numbers, expected 4");
        }
    };
    four("layer_nums", layer_nums);
    four("in_channels", in_channels);
    four("out_channels", out_channels);
    four("strides", strides);
    conv1_ = child("conv1", conv7x7(3, 64, 2));
    bn1_ = child("bn1", bn(64));
    maxpool_ = nn::MaxPool2d({.kernel_size = 3, .stride = 2, .pad_mode = "same"});
    nn::AnyCell *const layers[] = {&layer1_, &layer2_, &layer3_, &layer4_};
    for (size_t i = 0; i < 4; i++) {
        *layers[i] = child(
            "layer" + std::to_string(i + 1),
            make_layer(block, layer_nums[i], in_channels[i], out_channels[i], strides[i]));
    }
    end_point_ = child("end_point", nn::Dense(out_channels[3], num_classes));
}

Tensor ResNet::construct(const Tensor &x) const {
    const Tensor c1 = maxpool_(bn1_(conv1_(x)));
    const Tensor c2 = layer1_(c1);
    const Tensor c3 = layer2_(c2);
    const Tensor c4 = layer3_(c3);
    const Tensor c5 = layer4_(c4);
    Tensor out = F::reduce_mean(c5, {2, 3}, /*keep_dims=*/true);
    out = nn::Flatten()(out);
    return end_point_(out);
}

ResNet resnet18(int64_t class_num) {
    return ResNet(make_block<ResidualBlockBase>, {2, 2, 2, 2}, {64, 64, 128, 256},
                  {64, 128, 256, 512}, {1, 2, 2, 2}, class_num);
}
ResNet resnet34(int64_t class_num) {
    return ResNet(make_block<ResidualBlockBase>, {3, 4, 6, 3}, {64, 64, 128, 256},
                  {64, 128, 256, 512}, {1, 2, 2, 2}, class_num);
}
ResNet resnet50(int64_t class_num) {
    return ResNet(make_block<ResidualBlock>, {3, 4, 6, 3}, {64, 256, 512, 1024},
                  {256, 512, 1024, 2048}, {1, 2, 2, 2}, class_num);
}
ResNet resnet101(int64_t class_num) {
    return ResNet(make_block<ResidualBlock>, {3, 4, 23, 3}, {64, 256, 512, 1024},
                  {256, 512, 1024, 2048}, {1, 2, 2, 2}, class_num);
}
ResNet resnet152(int64_t class_num) {
    return ResNet(make_block<ResidualBlock>, {3, 8, 36, 3}, {64, 256, 512, 1024},
                  {256, 512, 1024, 2048}, {1, 2, 2, 2}, class_num);
}

}  // namespace halyard::examples
