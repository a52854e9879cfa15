// Cells that wrap a network: with its loss, for a training step, for evaluation.
#pragma once
#include <tuple>

#include "nn/cell.h"
#include "nn/loss_scale.h"
#include "nn/optimizer.h"

namespace halyard::nn {

struct StepPrograms;  // of nn/wrap.cpp

// Computes loss_fn(backbone(data), label).
class WithLossCell : public Cell {
public:
    WithLossCell(AnyCell backbone, AnyCell loss_fn);
    Tensor construct(const Tensor &data, const Tensor &label) const override;
    const AnyCell &backbone_network() const { return backbone_; }

private:
    AnyCell backbone_, loss_fn_;
};

// Runs one training step: forward pass, gradients of the optimiser's parameters, update. It takes
// the network's inputs and returns the network's output, the loss before the update. `sens` is the
// gradient of the loss with respect to itself, which loss scaling sets.
class TrainOneStepCell : public Cell {
public:
    TrainOneStepCell(AnyCell network, Optimizer optimizer, double sens = 1);
    std::vector<Tensor> construct(Tensors in) const override;
    std::vector<Tensor> construct_all(const NextInputs &next) const override;
    // In GRAPH_MODE it captures itself: forward and backward pass, and the update, unless
    // Optimizer::is_captured() is false.
    bool is_captured() const override { return false; }
    void set_sens(double value) { *sens_ = value; }
    // Returns the captured graphs, the last step's first.
    std::vector<std::string> step_graphs() const;
    const AnyCell &network() const { return network_; }
    const Optimizer &optimizer() const { return optimizer_; }

private:
    std::vector<Tensor> whole_step(Tensors in) const;
    AnyCell network_;
    Optimizer optimizer_;
    std::shared_ptr<double> sens_;
    std::shared_ptr<StepPrograms> programs_;
};

// Runs one training step with loss scaling. The loss is multiplied by a factor before gradients are
// computed, so that small gradients don't vanish in 16 bits; the gradients are divided by it before
// the update. Gradients that aren't finite mean that the factor was too large: the update is
// skipped and the optimiser's step count stays. `scale_sense` holds the factor and adapts it.
class TrainOneStepWithLossScaleCell : public Cell {
public:
    TrainOneStepWithLossScaleCell(AnyCell network, Optimizer optimizer,
                                  LossScaleManager scale_sense);
    std::vector<Tensor> construct(Tensors in) const override;
    std::vector<Tensor> construct_all(const NextInputs &next) const override;
    bool is_captured() const override { return false; }
    // Returns the captured graphs of the gradients, then those of the update.
    std::vector<std::string> step_graphs() const;
    // Returns true if the last step's gradients were not finite.
    bool overflow() const { return *overflow_; }
    // Returns the factor of the next step.
    double loss_scale() const { return scale_sense_.get_loss_scale(); }

private:
    AnyCell network_;
    Optimizer optimizer_;
    LossScaleManager scale_sense_;
    std::shared_ptr<bool> overflow_;
    std::shared_ptr<StepPrograms> programs_;
};

// Computes (loss, network(data), label). Nothing is recorded on the tape.
class WithEvalCell : public Cell {
public:
    WithEvalCell(AnyCell network, AnyCell loss_fn);
    // The loss is undefined if loss_fn is empty.
    std::tuple<Tensor, Tensor, Tensor> operator()(const Tensor &data, const Tensor &label) const;

private:
    AnyCell network_, loss_fn_;
};

}  // namespace halyard::nn
