// Gradient accumulation: the gradients of several small batches added up, and one update from their
// sum. For batches that memory doesn't hold at once; "Training", section "Custom training loop",
// names it as the reason to write a loop of one's own. Model does the same with nn::Accumulator.
#pragma once
#include "nn/cell.h"
#include "nn/optimizer.h"
#include "primitives/autograd/tape.h"
#include "primitives/ops/binary.h"

namespace halyard::examples {

// (data, label) -> loss; the gradients in the weights are added to grad_sum.
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
            grad_sum[i].set_data(F::add(grad_sum[i].data(), grads.parameters[i]));
        return grads.value;
    }
};

// Parameters of the same shapes, all zero: what a gradient is added up in.
inline ParameterTuple zeros_like(const ParameterTuple &weights) {
    ParameterTuple sums;
    for (const Parameter &p : weights) {
        sums.emplace_back(Tensor::zeros(p.shape()), "grad_sum." + p.name(),
                          /*requires_grad=*/false);
    }
    return sums;
}

// The update by the mean of `count` batches' gradients; the sums begin anew.
inline void optimize(const nn::Optimizer &optimizer, const ParameterTuple &grad_sum, int count) {
    std::vector<Tensor> mean;
    for (const Parameter &sum : grad_sum)
        mean.push_back(F::div(sum.data(), double(count)));
    optimizer(mean);
    for (const Parameter &sum : grad_sum)
        sum.set_data(Tensor::zeros(sum.shape()));
}

}  // namespace halyard::examples
