// Cells around a network: with its loss, for one training step, for evaluation.
#pragma once
#include <tuple>

#include "nn/cell.h"
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

// One step: forward, gradients in the optimiser's parameters, update. Returns the loss from before the update.
// sens: the gradient that the loss starts with, the factor of loss scaling.
class TrainOneStepCell : public Cell {
public:
    TrainOneStepCell(AnyCell network, Optimizer optimizer, double sens = 1);
    Tensor construct(const Tensor &data) const override;
    Tensor construct(const Tensor &data, const Tensor &label) const override;
    void set_sens(double value) { *sens_ = value; }

private:
    template<class F> Tensor step(const F &forward) const;
    AnyCell network_;
    Optimizer optimizer_;
    std::shared_ptr<double> sens_;
};

// (data, label) -> loss, network(data), label. Nothing is recorded.
class WithEvalCell : public Cell {
public:
    WithEvalCell(AnyCell network, AnyCell loss_fn);
    std::tuple<Tensor, Tensor, Tensor> operator()(const Tensor &data, const Tensor &label) const;  // loss is undefined when loss_fn is empty

private:
    AnyCell network_, loss_fn_;
};

}  // namespace halyard::nn
