#include "nn/wrap.h"

#include <algorithm>

#include "graph/replay.h"
#include "primitives/autograd/tape.h"
#include "primitives/operators.h"
#include "primitives/ops/binary.h"
#include "primitives/ops/reduce.h"
#include "primitives/ops/unary.h"

namespace halyard::nn {

WithLossCell::WithLossCell(AnyCell backbone, AnyCell loss_fn)
    : Cell(false), backbone_(child("_backbone", std::move(backbone))),
      loss_fn_(child("_loss_fn", std::move(loss_fn))) {}

Tensor WithLossCell::construct(const Tensor &data, const Tensor &label) const {
    return loss_fn_(backbone_(data), label);
}

TrainOneStepCell::TrainOneStepCell(AnyCell network, Optimizer optimizer, double sens)
    : Cell(false), network_(child("network", std::move(network))), optimizer_(std::move(optimizer)),
      sens_(std::make_shared<double>(sens)),
      replay_(std::make_shared<graph::Replay>("TrainOneStepCell")) {}

namespace {

struct LossAndGradients {
    Tensor loss;
    std::vector<Tensor> gradients;  // in the optimiser's parameters, of sens * loss
};

LossAndGradients forward_and_back(const AnyCell &network, const Optimizer &optimizer, Tensors in,
                                  double sens) {
    const std::vector<Tensor> weights(optimizer.parameters().begin(), optimizer.parameters().end());
    Tape tape;
    for (const Tensor &w : weights)
        tape.watch(w);
    const Tensor loss = network(in);
    const PartScope part([] { return std::string("backward"); });
    return {loss, tape.gradient(loss, weights, Tensor::full(loss.shape(), sens, loss.dtype()))};
}

// As forward_and_back(), by a captured program where there is one.
LossAndGradients run_step(graph::Replay &replay, const AnyCell &network, const Optimizer &optimizer,
                          Tensors in, double sens) {
    if (!graph::Replay::is_wanted()) return forward_and_back(network, optimizer, in, sens);
    const graph::Replay::Settings settings{{sens}, settings_fingerprint()};
    std::vector<Tensor> all = replay.run(in, settings, [&](Tensors x) {
        auto [loss, gradients] = forward_and_back(network, optimizer, x, sens);
        gradients.insert(gradients.begin(), loss);
        return gradients;
    });
    return {all[0], {all.begin() + 1, all.end()}};
}

}  // namespace

std::vector<std::string> TrainOneStepCell::step_graphs() const {
    return replay_->texts();
}

std::vector<Tensor> TrainOneStepCell::construct(Tensors in) const {
    const auto [loss, gradients] = run_step(*replay_, network_, optimizer_, in, *sens_);
    optimizer_(gradients);
    return {loss};
}

TrainOneStepWithLossScaleCell::TrainOneStepWithLossScaleCell(AnyCell network, Optimizer optimizer,
                                                             LossScaleManager scale_sense)
    : Cell(false), network_(child("network", std::move(network))), optimizer_(std::move(optimizer)),
      scale_sense_(child("scale_sense", std::move(scale_sense))),
      overflow_(std::make_shared<bool>(false)),
      replay_(std::make_shared<graph::Replay>("TrainOneStepWithLossScaleCell")) {}

std::vector<Tensor> TrainOneStepWithLossScaleCell::construct(Tensors in) const {
    const double scale = loss_scale();
    auto [loss, gradients] = run_step(*replay_, network_, optimizer_, in, scale);
    const auto finite = [](const Tensor &g) { return F::reduce_all(F::is_finite(g)).item() != 0; };
    *overflow_ = !std::all_of(gradients.begin(), gradients.end(), finite);
    if (!*overflow_ || !scale_sense_.get_drop_overflow_update()) {
        for (Tensor &g : gradients)
            g = g * (1 / scale);
        optimizer_(gradients);
    }
    scale_sense_.update_loss_scale(*overflow_);
    return {loss};
}

WithEvalCell::WithEvalCell(AnyCell network, AnyCell loss_fn)
    : Cell(false), network_(child("_network", std::move(network))), loss_fn_(std::move(loss_fn)) {
    if (loss_fn_) child("_loss_fn", loss_fn_);
}

std::tuple<Tensor, Tensor, Tensor> WithEvalCell::operator()(const Tensor &data,
                                                            const Tensor &label) const {
    const StopTape stop;
    const Tensor out = network_(data);
    return {loss_fn_ ? loss_fn_(out, label) : Tensor(), out, label};
}

}  // namespace halyard::nn
