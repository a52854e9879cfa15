// Fully connected layer.
#pragma once
#include "nn/cell.h"
#include "nn/initializer.h"

namespace halyard::nn {

// Computes activation(x * weight^T + bias): x[...,in_channels] gives [...,out_channels]. The
// parameters are weight[out_channels, in_channels] and bias[out_channels]; by default both are
// drawn from U(-1/sqrt(in_channels), 1/sqrt(in_channels)). Throws AttrError for wrong options,
// ShapeError for an input that does not fit.
class Dense : public Cell {
public:
    Dense(int64_t in_channels, int64_t out_channels, const Initializer &weight_init = {},
          const Initializer &bias_init = {}, bool has_bias = true, AnyCell activation = {});
    Tensor construct(const Tensor &x) const override;
    std::string extend_repr() const override;

    Parameter weight;
    Parameter bias;  // undefined without has_bias
    AnyCell activation;

private:
    int64_t in_channels_, out_channels_;
};

}  // namespace halyard::nn
