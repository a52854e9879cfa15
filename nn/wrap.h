// Cells around a network: with its loss, for one training step, for evaluation.
#pragma once
#include <tuple>

#include "nn/cell.h"
#include "nn/loss_scale.h"
#include "nn/optimizer.h"

namespace halyard::nn {

// (data, label) -> loss(backbone(data), label).
class WithLossCell : public Cell {
public:
    WithLossCell(AnyCell backbone, AnyCell loss_fn);
    Tensor construct(const Tensor &data, const Tensor &label) const override;
    const AnyCell &backbone_network() const { return backbone_; }

private:
    AnyCell backbone_, loss_fn_;
};

// One step: forward, gradients in the optimiser's parameters, update. Inputs are the network's.
// Returns its output, the loss, from before the update. sens: the gradient that the loss starts
// with, the factor of loss scaling.
class TrainOneStepCell : public Cell {
public:
    TrainOneStepCell(AnyCell network, Optimizer optimizer, double sens = 1);
    std::vector<Tensor> construct(Tensors in) const override;
    void set_sens(double value) { *sens_ = value; }

private:
    AnyCell network_;
    Optimizer optimizer_;
    std::shared_ptr<double> sens_;
};

// One step with a loss that is multiplied by a factor before its gradients are taken, so that small
// ones don't vanish in 16 bits; they are divided by it again before the update. Gradients that
// aren't finite came of a factor too large: the step is skipped, and the optimiser doesn't count
// it. scale_sense keeps the factor, which follows such overflows.
class TrainOneStepWithLossScaleCell : public Cell {
public:
    TrainOneStepWithLossScaleCell(AnyCell network, Optimizer optimizer,
                                  LossScaleManager scale_sense);
    std::vector<Tensor> construct(Tensors in) const override;
    bool overflow() const { return *overflow_; }                         // in the last step
    double loss_scale() const { return scale_sense_.get_loss_scale(); }  // of the next step

private:
    AnyCell network_;
    Optimizer optimizer_;
    LossScaleManager scale_sense_;
    std::shared_ptr<bool> overflow_;
};

// (data, label) -> loss, network(data), label. Nothing is recorded.
class WithEvalCell : public Cell {
public:
    WithEvalCell(AnyCell network, AnyCell loss_fn);
    // loss is undefined when loss_fn is empty
    std::tuple<Tensor, Tensor, Tensor> operator()(const Tensor &data, const Tensor &label) const;

private:
    AnyCell network_, loss_fn_;
};

}  // namespace halyard::nn
