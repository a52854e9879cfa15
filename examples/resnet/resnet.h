// ResNet-18 to ResNet-152, as in "Network migration debugging and tuning": He, Zhang, Ren, Sun,
// "Deep residual learning", 2015, with the strides of the second version's blocks in a pooling.
#pragma once
#include <functional>
#include <vector>

#include "nn/cell.h"

namespace halyard::examples {

// The bottleneck of ResNet-50, 101 and 152: x[n,in_channel,h,w] ->
// [n,out_channel,ceil(h/stride),ceil(w/stride)].
class ResidualBlock : public nn::Cell {
public:
    static constexpr int64_t expansion = 4;
    explicit ResidualBlock(int64_t in_channel, int64_t out_channel, int64_t stride = 1);
    Tensor construct(const Tensor &x) const override;

private:
    int64_t stride_;
    // e2 if the stride is not 1, else conv2 and bn2.
    nn::AnyCell conv1_, bn1_, e2_, conv2_, bn2_, conv3_, bn3_;
    // Empty if x has the shape of the result.
    nn::AnyCell down_sample_layer_;
};

// The basic block of ResNet-18 and 34, with the shapes of ResidualBlock. It is written as in the
// document; ResidualBlock fuses the addition and the relu into its last batch norm, which saves two
// passes over memory.
class ResidualBlockBase : public nn::Cell {
public:
    explicit ResidualBlockBase(int64_t in_channel, int64_t out_channel, int64_t stride = 1);
    Tensor construct(const Tensor &x) const override;

private:
    nn::AnyCell conv1_, bn1d_, conv2_, bn2d_, relu_, down_sample_layer_;
};

// Maps x[n,3,h,w] to logits[n,num_classes].
class ResNet : public nn::Cell {
public:
    using Block =
        std::function<nn::AnyCell(int64_t in_channel, int64_t out_channel, int64_t stride)>;

    // Lists for each of the four layers the number of blocks and the channels before and after the
    // first block. Throws AttrError unless there are four layers.
    ResNet(const Block &block, const std::vector<int64_t> &layer_nums,
           const std::vector<int64_t> &in_channels, const std::vector<int64_t> &out_channels,
           const std::vector<int64_t> &strides, int64_t num_classes);
    Tensor construct(const Tensor &x) const override;

private:
    nn::AnyCell conv1_, bn1_, maxpool_, layer1_, layer2_, layer3_, layer4_, end_point_;
};

ResNet resnet18(int64_t class_num = 10);
ResNet resnet34(int64_t class_num = 10);
ResNet resnet50(int64_t class_num = 10);
ResNet resnet101(int64_t class_num = 10);
ResNet resnet152(int64_t class_num = 10);

}  // namespace halyard::examples
