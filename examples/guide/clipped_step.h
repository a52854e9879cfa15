// A training step that clips gradients, as MindSpore's guide to gradient clipping does in its own
// TrainOneStepCell.
#pragma once
#include "nn/cell.h"
#include "nn/optimizer.h"
#include "primitives/autograd/tape.h"
#include "primitives/composites/updates.h"

namespace halyard::examples {

// Maps (data, label) to the loss before the update. `network` maps (data, label) to the loss.
// Gradients are scaled so that their global norm is at most clip_norm.
class ClippedStep : public nn::Cell {
public:
    ClippedStep(const nn::AnyCell &net, const nn::Optimizer &opt, double largest)
        : Cell(/*auto_prefix=*/false), network(child("network", net)), optimizer(opt),
          clip_norm(largest) {}

    nn::AnyCell network;
    nn::Optimizer optimizer;
    double clip_norm;

    Tensor construct(const Tensor &data, const Tensor &label) const override {
        const Function forward = [this](const std::vector<Tensor> &in) {
            return network(in[0], in[1]);
        };
        const Gradients grads = value_and_grad(forward, {}, optimizer.parameters())({data, label});
        return depend(grads.value, optimizer(F::clip_by_global_norm(grads.parameters, clip_norm)));
    }
};

}  // namespace halyard::examples
