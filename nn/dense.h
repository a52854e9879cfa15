// Fully connected layer.
#pragma once
#include "nn/cell.h"
#include "nn/initializer.h"

namespace halyard::nn {

// x[..., in_channels] -> activation(x * weight^T + bias)[..., out_channels]. Parameters:
// weight[out_channels, in_channels], bias[out_channels]; their default is U(+-1/sqrt(in_channels)).
// Throws AttrError, ShapeError.
class Dense : public Cell {
public:
    Dense(int64_t in_channels, int64_t out_channels, const Initializer &weight_init = {},
          const Initializer &bias_init = {}, bool has_bias = true, AnyCell activation = {});
    Tensor construct(const Tensor &x) const override;
    std::string extend_repr() const override;

    Parameter weight, bias;  // bias is undefined without has_bias
    AnyCell activation;

private:
    int64_t in_channels_, out_channels_;
};

}  // namespace halyard::nn
