// Gradient accumulation: the gradients of several small batches are added up and update the
// parameters once. It serves batches that don't fit into memory, and is the reason that "Training",
// section "Custom training loop", gives for a handwritten loop. With Model, use nn::Accumulator.
#pragma once
#include "nn/cell.h"
#include "nn/optimizer.h"
#include "primitives/autograd/tape.h"
#include "primitives/operators.h"
#include "primitives/ops/binary.h"

namespace halyard::examples {

// Maps (data, label) to the loss and adds the gradients of the weights to grad_sum.
class TrainForwardBackward : public nn::Cell {
public:
    TrainForwardBackward(const nn::AnyCell &net, const ParameterTuple &sums)
        : Cell(/*auto_prefix=*/false), network(child("network", net)),
          weights(net.trainable_params()), grad_sum(sums) {}

    nn::AnyCell network;
    ParameterTuple weights, grad_sum;
    GradOperation grad{.get_by_list = true};

    Tensor construct(const Tensor &data, const Tensor &label) const override {
        const Function forward = [this](const std::vector<Tensor> &in) {
            return network(in[0], in[1]);
        };
        const Gradients grads = grad(forward, weights)({data, label});
        for (size_t i = 0; i < grad_sum.size(); i++)
            grad_sum[i].set_data(grad_sum[i].data() + grads.parameters[i]);
        return grads.value;
    }
};

// Returns parameters of the same shapes filled with zeros, in which gradients are added up.
inline ParameterTuple zeros_like(const ParameterTuple &weights) {
    ParameterTuple sums;
    for (const Parameter &p : weights) {
        sums.emplace_back(Tensor::zeros(p.shape()), "grad_sum." + p.name(),
                          /*requires_grad=*/false);
    }
    return sums;
}

// Updates by the mean of `count` batches' gradients and resets the sums.
inline void optimize(const nn::Optimizer &optimizer, const ParameterTuple &grad_sum, int count) {
    std::vector<Tensor> mean;
    for (const Parameter &sum : grad_sum)
        mean.push_back(sum.data() / double(count));
    optimizer(mean);
    for (const Parameter &sum : grad_sum)
        sum.set_data(Tensor::zeros(sum.shape()));
}

}  // namespace halyard::examples
