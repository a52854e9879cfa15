#include "nn/wrap.h"

#include "primitives/tape.h"

namespace halyard::nn {

WithLossCell::WithLossCell(AnyCell backbone, AnyCell loss_fn)
    : Cell(false), backbone_(child("_backbone", std::move(backbone))), loss_fn_(child("_loss_fn", std::move(loss_fn))) {}

Tensor WithLossCell::construct(const Tensor &data, const Tensor &label) const { return loss_fn_(backbone_(data), label); }

TrainOneStepCell::TrainOneStepCell(AnyCell network, Optimizer optimizer, double sens)
    : Cell(false), network_(child("network", std::move(network))), optimizer_(std::move(optimizer)), sens_(std::make_shared<double>(sens)) {}

template<class F> Tensor TrainOneStepCell::step(const F &forward) const {
    std::vector<Tensor> weights(optimizer_.parameters().begin(), optimizer_.parameters().end());
    Tape tape;
    for (const Tensor &w : weights) tape.watch(w);
    const Tensor loss = forward();
    optimizer_(tape.gradient(loss, weights, Tensor::full(loss.shape(), *sens_, loss.dtype())));
    return loss;
}

Tensor TrainOneStepCell::construct(const Tensor &data) const {
    return step([&] { return network_(data); });
}
Tensor TrainOneStepCell::construct(const Tensor &data, const Tensor &label) const {
    return step([&] { return network_(data, label); });
}

WithEvalCell::WithEvalCell(AnyCell network, AnyCell loss_fn) : Cell(false), network_(child("_network", std::move(network))), loss_fn_(std::move(loss_fn)) {
    if (loss_fn_) child("_loss_fn", loss_fn_);
}

std::tuple<Tensor, Tensor, Tensor> WithEvalCell::operator()(const Tensor &data, const Tensor &label) const {
    const StopTape stop;
    const Tensor out = network_(data);
    return {loss_fn_ ? loss_fn_(out, label) : Tensor(), out, label};
}

}  // namespace halyard::nn
