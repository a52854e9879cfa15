// A network of primitives and one layer: "Training", section "Custom training network".
#pragma once
#include "nn/dense.h"
#include "primitives/ops/reduce.h"
#include "primitives/ops/unary.h"

namespace halyard::examples {

// Maps x[n,in_channel,h,w] to [n,num_class].
class ReLUReduceMeanDense : public nn::Cell {
public:
    ReLUReduceMeanDense(const Tensor &kernel, const Tensor &bias, int64_t in_channel,
                        int64_t num_class)
        : dense(child("dense", nn::Dense(in_channel, num_class, kernel, bias))) {}

    ops::ReLU relu;
    ops::ReduceMean mean{/*keep_dims=*/false};
    nn::Dense dense;

    Tensor construct(const Tensor &in) const override {
        Tensor x = relu(in);
        x = mean(x, {2, 3});
        x = dense(x);
        return x;
    }
};

}  // namespace halyard::examples
