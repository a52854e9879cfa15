// MobileNetV2: Sandler, Howard, Zhu, Zhmoginov, Chen, "Inverted residuals and linear bottlenecks",
// 2018.
#pragma once
#include "nn/cell.h"
#include "nn/sequential.h"

namespace halyard::examples {

// Maps x[n,in_channel,h,w] to [n,out_channel,ceil(h/stride),ceil(w/stride)]: a 1x1 convolution to
// expand_ratio times the channels, a 3x3 depthwise convolution, and a 1x1 convolution. x is added
// if the shapes are equal.
class InvertedResidual : public nn::Cell {
public:
    InvertedResidual(int64_t in_channel, int64_t out_channel, int64_t stride, int64_t expand_ratio);
    Tensor construct(const Tensor &x) const override;

private:
    nn::SequentialCell conv_;
    bool use_res_connect_;
};

// Maps x[n,3,h,w] to logits[n,num_classes]. width_mult scales all channels, rounded to multiples
// of 8. Throws AttrError.
class MobileNetV2 : public nn::Cell {
public:
    explicit MobileNetV2(int64_t num_classes = 10, double width_mult = 1.0);
    Tensor construct(const Tensor &x) const override;

private:
    nn::SequentialCell features_;
    nn::AnyCell head_;
};

}  // namespace halyard::examples
