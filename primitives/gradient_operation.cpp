#include <utility>

#include "primitives/composite.h"
#include "primitives/tape.h"

namespace halyard {
namespace {

// f at `inputs`, and the gradients in the inputs at `positions` and in the parameters. Integer inputs and parameters that
// don't require a gradient get zeros. Each input gets an identity of its own, so that one tensor may stand for two.
Gradients differentiate(const Function &f, const std::vector<Tensor> &inputs, const std::vector<int> &positions, const ParameterTuple &parameters,
                        const Tensor &sens) {
    std::vector<Tensor> own;
    for (const Tensor &t : inputs) own.push_back(t.defined() ? alias_of(t) : t);
    Tape tape;
    std::vector<Tensor> x;
    std::vector<Tensor *> places;
    Gradients g;
    g.inputs.resize(positions.size());
    g.parameters.resize(parameters.size());
    auto want = [&](Tensor &to, const Tensor &t, bool on) {
        if (!on || !is_float(t.dtype())) {
            to = Tensor::zeros(t.shape(), t.dtype());
            return;
        }
        tape.watch(t);
        x.push_back(t);
        places.push_back(&to);
    };
    for (size_t k = 0; k < positions.size(); k++) {
        const int p = positions[k];
        if (p < 0 || p >= (int)own.size())
            throw GradError("gradient", "position is " + std::to_string(p) + ", expected 0 to " + std::to_string((int)own.size() - 1));
        want(g.inputs[k], own[(size_t)p], true);
    }
    for (size_t k = 0; k < parameters.size(); k++) want(g.parameters[k], parameters[k].data(), parameters[k].requires_grad());
    g.value = f(own);
    std::vector<Tensor> found = tape.gradient(g.value, x, sens);
    for (size_t k = 0; k < found.size(); k++) *places[k] = std::move(found[k]);
    return g;
}

}  // namespace

std::function<Gradients(const std::vector<Tensor> &)> GradOperation::operator()(Function f, ParameterTuple parameters) const {
    return [flags = *this, f = std::move(f), parameters = std::move(parameters)](std::vector<Tensor> inputs) {
        Tensor sens;
        if (flags.sens_param) {
            if (inputs.empty()) throw GradError("GradOperation", "sens_param is set, but the call has no arguments");
            sens = std::move(inputs.back());
            inputs.pop_back();
        }
        std::vector<int> positions;
        if (flags.get_all)
            for (size_t k = 0; k < inputs.size(); k++) positions.push_back((int)k);
        else if (!flags.get_by_list) positions = {0};
        return differentiate(f, inputs, positions, flags.get_by_list ? parameters : ParameterTuple(), sens);
    };
}

std::function<Gradients(const std::vector<Tensor> &)> value_and_grad(Function f, std::vector<int> positions, ParameterTuple parameters) {
    return [f = std::move(f), positions = std::move(positions), parameters = std::move(parameters)](const std::vector<Tensor> &inputs) {
        return differentiate(f, inputs, positions, parameters, {});
    };
}

Tensor stop_gradient(const Tensor &t) { return t.with_view(t.shape(), t.strides(), 0); }

}  // namespace halyard
