// MobileNetV2: Sandler, Howard, Zhu, Zhmoginov, Chen, "Inverted residuals and linear bottlenecks",
// 2018.
#pragma once
#include "nn/cell.h"
#include "nn/sequential.h"

namespace halyard::examples {

// x[n,in_channel,h,w] -> [n,out_channel,ceil(h/stride),ceil(w/stride)]: 1x1 to expand_ratio times
// as many channels, 3x3 of each channel, 1x1 back. x is added where the shapes agree.
class InvertedResidual : public nn::Cell {
public:
    InvertedResidual(int64_t in_channel, int64_t out_channel, int64_t stride, int64_t expand_ratio);
    Tensor construct(const Tensor &x) const override;

private:
    nn::SequentialCell conv_;
    bool use_res_connect_;
};

// x[n,3,h,w] -> logits[n,num_classes]. width_mult scales all channels, to multiples of 8. Throws
// AttrError.
class MobileNetV2 : public nn::Cell {
public:
    explicit MobileNetV2(int64_t num_classes = 10, double width_mult = 1.0);
    Tensor construct(const Tensor &x) const override;

private:
    nn::SequentialCell features_;
    nn::AnyCell head_;
};

}  // namespace halyard::examples
