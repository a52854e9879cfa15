#include "nn/wrap.h"

#include <atomic>
#include <functional>
#include <mutex>

#include "graph/replay.h"
#include "primitives/autograd/tape.h"
#include "primitives/operators.h"
#include "primitives/ops/binary.h"
#include "primitives/ops/reduce.h"
#include "primitives/ops/unary.h"
#include "registry/base/log.h"
#include "registry/tensor/graph_listener.h"

namespace halyard::nn {

WithLossCell::WithLossCell(AnyCell backbone, AnyCell loss_fn)
    : Cell(false), backbone_(child("_backbone", std::move(backbone))),
      loss_fn_(child("_loss_fn", std::move(loss_fn))) {}

Tensor WithLossCell::construct(const Tensor &data, const Tensor &label) const {
    return loss_fn_(backbone_(data), label);
}

namespace {

// The gradient of a loss with respect to itself. It is kept from step to step, so that it stays on
// the device that reads it.
class KeptSeed {
public:
    Tensor of(const Tensor &loss, double sens) {
        const std::lock_guard lock(mutex_);
        const bool fits = kept_.defined() && sens == sens_ && kept_.shape() == loss.shape() &&
                          kept_.dtype() == loss.dtype();
        if (!fits) kept_ = Tensor::full(loss.shape(), sens, loss.dtype());
        sens_ = sens;
        return kept_;
    }

private:
    std::mutex mutex_;
    Tensor kept_;
    double sens_ = 0;
};

}  // namespace

// The programs of a training step, and what steps have in common.
struct StepPrograms {
    explicit StepPrograms(const char *name) : step(name), update(std::string(name) + " update") {}
    graph::Replay step, update;
    std::atomic<bool> update_is_reported = false;
    KeptSeed seed;
};

TrainOneStepCell::TrainOneStepCell(AnyCell network, Optimizer optimizer, double sens)
    : Cell(false), network_(child("network", std::move(network))), optimizer_(std::move(optimizer)),
      sens_(std::make_shared<double>(sens)),
      programs_(std::make_shared<StepPrograms>("TrainOneStepCell")) {}

namespace {

struct LossAndGradients {
    Tensor loss;
    std::vector<Tensor> gradients;  // in the optimiser's parameters, of the seed times the loss
};

// Returns the gradient of the loss with respect to itself.
using Seed = std::function<Tensor(const Tensor &loss)>;

Seed seed_of(double sens) {
    return [sens](const Tensor &loss) { return Tensor::full(loss.shape(), sens, loss.dtype()); };
}

LossAndGradients forward_and_back(const AnyCell &network, const Optimizer &optimizer, Tensors in,
                                  const Seed &seed) {
    const std::vector<Tensor> weights(optimizer.parameters().begin(), optimizer.parameters().end());
    Tape tape;
    for (const Tensor &w : weights)
        tape.watch(w);
    const Tensor loss = network(in);
    return {loss, tape.gradient(loss, weights, seed(loss))};
}

// What a program of a step contains, which its signature names.
enum class Captured : uint8_t { whole_step, gradients, finite_gradients };

graph::Replay::Settings settings_of(Captured what, double sens, const Optimizer &optimizer) {
    const double phase = what == Captured::whole_step ? double(optimizer.phase()) : 0;
    return {{sens, double(what), phase}, settings_fingerprint()};
}

// Returns the names of the network's parameters and of the optimiser's state.
graph::Replay::Names names_of(const AnyCell &network, const Optimizer &optimizer) {
    return [&] {
        std::vector<std::pair<std::string, Tensor>> all;
        for (const ParameterTuple &some : {network.get_parameters(), optimizer.get_parameters()})
            for (const Parameter &p : some)
                all.emplace_back(p.name(), p.data());
        return all;
    };
}

void update(const Optimizer &optimizer, const std::vector<Tensor> &gradients) {
    const PartScope part([] { return std::string("update"); });
    optimizer(gradients);
}

// Says once per replay that the update is no part of its graphs.
void report_update(const Optimizer &optimizer, std::atomic<bool> &is_reported) {
    if (optimizer.is_captured() || is_reported.exchange(true)) return;
    log(LogLevel::warning, "graph",
        "the update runs op by op after the captured gradients: its rule doesn't state the numbers "
        "of its steps, or a function gets the gradients");
}

}  // namespace

std::vector<std::string> TrainOneStepCell::step_graphs() const {
    return programs_->step.texts();
}

std::vector<Tensor> TrainOneStepCell::whole_step(Tensors in) const {
    // A captured graph makes its own.
    const Seed kept = [this](const Tensor &l) { return programs_->seed.of(l, *sens_); };
    const Seed seed = call_listener() ? seed_of(*sens_) : kept;
    const auto [loss, gradients] = forward_and_back(network_, optimizer_, in, seed);
    update(optimizer_, gradients);
    return {loss};
}

std::vector<Tensor> TrainOneStepCell::construct_all(const NextInputs &next) const {
    if (!graph::Replay::is_wanted() || !optimizer_.is_captured()) return Cell::construct_all(next);
    return programs_->step.run_all(
        next, [this] { return settings_of(Captured::whole_step, *sens_, optimizer_); },
        [this](Tensors x) { return whole_step(x); }, names_of(network_, optimizer_));
}

std::vector<Tensor> TrainOneStepCell::construct(Tensors in) const {
    if (!graph::Replay::is_wanted()) return whole_step(in);
    if (optimizer_.is_captured()) {
        const auto settings = settings_of(Captured::whole_step, *sens_, optimizer_);
        return programs_->step.run(
            in, settings, [this](Tensors x) { return whole_step(x); },
            names_of(network_, optimizer_));
    }
    report_update(optimizer_, programs_->update_is_reported);
    const auto settings = settings_of(Captured::gradients, *sens_, optimizer_);
    const auto step = [&](Tensors x) {
        auto [loss, gradients] = forward_and_back(network_, optimizer_, x, seed_of(*sens_));
        gradients.insert(gradients.begin(), loss);
        return gradients;
    };
    const std::vector<Tensor> all = programs_->step.run(in, settings, step,
                                                        names_of(network_, optimizer_));
    optimizer_({all.begin() + 1, all.end()});
    return {all[0]};
}

TrainOneStepWithLossScaleCell::TrainOneStepWithLossScaleCell(AnyCell network, Optimizer optimizer,
                                                             LossScaleManager scale_sense)
    : Cell(false), network_(child("network", std::move(network))), optimizer_(std::move(optimizer)),
      scale_sense_(child("scale_sense", std::move(scale_sense))),
      overflow_(std::make_shared<bool>(false)),
      programs_(std::make_shared<StepPrograms>("TrainOneStepWithLossScaleCell")) {}

std::vector<std::string> TrainOneStepWithLossScaleCell::step_graphs() const {
    std::vector<std::string> all = programs_->step.texts();
    const std::vector<std::string> updates = programs_->update.texts();
    all.insert(all.end(), updates.begin(), updates.end());
    return all;
}

namespace {

Tensor is_all_finite(const Tensor &g) {
    return F::reduce_all(F::is_finite(g));
}

// A number of the step: the value of a function, which graphs call anew in each run.
NumberSource source_of(const std::function<double()> &number) {
    return {[number] { return std::vector{number()}; }, [] { return int64_t(0); }};
}

// Returns the loss, whether all gradients are finite, and the gradients.
std::vector<Tensor> checked_gradients(const AnyCell &network, const Optimizer &optimizer, Tensors x,
                                      const LossScaleManager &scale) {
    const Seed seed = [&](const Tensor &loss) {
        Tensor factor;
        const auto source = source_of([scale] { return scale.get_loss_scale(); });
        run_with_numbers(source, {}, [&](std::span<const double> numbers) {
            factor = Tensor::full(loss.shape(), numbers[0], loss.dtype());
        });
        return factor;
    };
    auto [loss, gradients] = forward_and_back(network, optimizer, x, seed);
    Tensor finite = is_all_finite(gradients[0]);
    for (size_t k = 1; k < gradients.size(); k++)
        finite = F::logical_and(finite, is_all_finite(gradients[k]));
    std::vector<Tensor> all{loss, finite};
    all.insert(all.end(), gradients.begin(), gradients.end());
    return all;
}

void update_unscaled(const Optimizer &optimizer, Tensors gradients, const LossScaleManager &scale) {
    std::vector<Tensor> unscaled;
    const auto source = source_of([scale] { return 1 / scale.get_loss_scale(); });
    run_with_numbers(source, {}, [&](std::span<const double> numbers) {
        unscaled.clear();
        for (const Tensor &g : gradients)
            unscaled.push_back(g * numbers[0]);
    });
    update(optimizer, unscaled);
}

}  // namespace

// Whether the update runs depends on the gradients, so in GRAPH_MODE it is a program of its own.
std::vector<Tensor> TrainOneStepWithLossScaleCell::construct(Tensors in) const {
    const bool is_captured = graph::Replay::is_wanted();
    std::vector<Tensor> all;
    if (is_captured) {
        const auto settings = settings_of(Captured::finite_gradients, 1, optimizer_);
        const auto step = [&](Tensors x) {
            return checked_gradients(network_, optimizer_, x, scale_sense_);
        };
        all = programs_->step.run(in, settings, step, names_of(network_, optimizer_));
    } else {
        all = checked_gradients(network_, optimizer_, in, scale_sense_);
    }
    *overflow_ = all[1].item() == 0;
    const Tensors gradients = Tensors(all).subspan(2);
    if (!*overflow_ || !scale_sense_.get_drop_overflow_update()) {
        if (is_captured && optimizer_.is_captured()) {
            const auto settings = settings_of(Captured::whole_step, 1, optimizer_);
            const auto step = [&](Tensors g) {
                update_unscaled(optimizer_, g, scale_sense_);
                return std::vector<Tensor>();
            };
            programs_->update.run(gradients, settings, step, names_of(network_, optimizer_));
        } else {
            if (is_captured) report_update(optimizer_, programs_->update_is_reported);
            update_unscaled(optimizer_, gradients, scale_sense_);
        }
    }
    scale_sense_.update_loss_scale(*overflow_);
    return {all[0]};
}

std::vector<Tensor> TrainOneStepWithLossScaleCell::construct_all(const NextInputs &next) const {
    const graph::Replay::Sink gradients(programs_->step);
    const graph::Replay::Sink updates(programs_->update);
    return Cell::construct_all(next);
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
