// A handwritten training step: "Training", section "Custom training loop". It does what
// nn::TrainOneStepCell does.
#pragma once
#include <memory>

#include "nn/cell.h"
#include "nn/optimizer.h"
#include "primitives/autograd/tape.h"

namespace halyard::examples {

// Maps (data, label) to the loss before the update. `network` maps (data, label) to the loss.
class TrainOneStepCell : public nn::Cell {
public:
    TrainOneStepCell(const nn::AnyCell &net, const nn::Optimizer &opt, double sens_value = 1.0)
        : Cell(/*auto_prefix=*/false), network(child("network", net)),
          weights(net.trainable_params()), optimizer(opt),
          sens(std::make_shared<double>(sens_value)) {}

    nn::AnyCell network;
    ParameterTuple weights;
    nn::Optimizer optimizer;
    GradOperation grad{.get_by_list = true, .sens_param = true};
    std::shared_ptr<double> sens;  // shared by all copies of the cell

    void set_sens(double value) const { *sens = value; }

    Tensor construct(const Tensor &data, const Tensor &label) const override {
        const Tensor loss = network(data, label);
        const Tensor filled = Tensor::full(loss.shape(), *sens, loss.dtype());
        const Function forward = [this](const std::vector<Tensor> &in) {
            return network(in[0], in[1]);
        };
        const Gradients grads = grad(forward, weights)({data, label, filled});
        return depend(loss, optimizer(grads.parameters));
    }
};

}  // namespace halyard::examples
