#include <utility>

#include "primitives/autograd/tape.h"
#include "primitives/composites/composite.h"

namespace halyard {
namespace {

// One run of a function on a tape. Each input is an alias with an identity of its own, so that the
// same tensor may be passed twice.
class Recording {
public:
    // Watches the inputs at `positions` and the parameters. Integer inputs and parameters that
    // don't require a gradient get zeros.
    Recording(const std::vector<Tensor> &inputs, const std::vector<int> &positions,
              const ParameterTuple &parameters)
        : blank_{{},
                 {},
                 std::vector<Tensor>(positions.size()),
                 std::vector<Tensor>(parameters.size())} {
        for (const Tensor &t : inputs)
            own_.push_back(t.defined() ? alias_of(t) : t);
        for (size_t k = 0; k < positions.size(); k++) {
            const int p = positions[k];
            if (p < 0 || p >= int(own_.size())) {
                throw GradError("gradient", "position is " + std::to_string(p) +
                                                ", expected 0 to " +
                                                std::to_string(int(own_.size()) - 1));
            }
            if (!own_[p].defined()) {
                throw GradError("gradient",
                                "input " + std::to_string(p) + " is an undefined tensor");
            }
            want(&Gradients::inputs, k, own_[p], true);
        }
        for (size_t k = 0; k < parameters.size(); k++)
            want(&Gradients::parameters, k, parameters[k].data(), parameters[k].requires_grad());
    }

    void run(const FunctionWithAux &f) {
        std::vector<Tensor> values = f(own_);
        tape_.stop();
        if (values.empty()) throw GradError("gradient", "the function returned no tensor");
        blank_.value = std::move(values[0]);
        blank_.aux.assign(std::make_move_iterator(values.begin() + 1),
                          std::make_move_iterator(values.end()));
    }

    Gradients gradients(const Tensor &sens, bool keep = false) {
        Gradients g = blank_;
        std::vector<Tensor> found = tape_.gradient(g.value, x_, sens, keep);
        for (size_t k = 0; k < found.size(); k++)
            (g.*places_[k].first)[places_[k].second] = std::move(found[k]);
        return g;
    }

    const Gradients &values() const { return blank_; }

private:
    using List = std::vector<Tensor> Gradients::*;
    void want(List list, size_t k, const Tensor &t, bool on) {
        if (!on || !is_float(t.dtype())) {
            (blank_.*list)[k] = Tensor::zeros(t.shape(), t.dtype());
            return;
        }
        tape_.watch(t);
        x_.push_back(t);
        places_.emplace_back(list, k);
    }

    Tape tape_;
    Gradients blank_;  // the values, and zeros for tensors without gradients
    std::vector<Tensor> own_, x_;
    std::vector<std::pair<List, size_t>> places_;  // where the gradients in x_ go
};

Gradients differentiate(const FunctionWithAux &f, const std::vector<Tensor> &inputs,
                        const std::vector<int> &positions, const ParameterTuple &parameters,
                        const Tensor &sens) {
    Recording r(inputs, positions, parameters);
    r.run(f);
    return r.gradients(sens);
}

FunctionWithAux alone(Function f) {
    return [f = std::move(f)](const std::vector<Tensor> &inputs) {
        return std::vector<Tensor>{f(inputs)};
    };
}

std::vector<int> all_of(const std::vector<Tensor> &inputs) {
    std::vector<int> positions;
    for (size_t k = 0; k < inputs.size(); k++)
        positions.push_back(int(k));
    return positions;
}

}  // namespace

std::function<Gradients(const std::vector<Tensor> &)> GradOperation::operator()(
    Function f, ParameterTuple parameters) const {
    return [flags = *this, f = alone(std::move(f)),
            parameters = std::move(parameters)](std::vector<Tensor> inputs) {
        Tensor sens;
        if (flags.sens_param) {
            if (inputs.empty()) {
                throw GradError("GradOperation",
                                "sens_param is set, but the call has no arguments");
            }
            sens = std::move(inputs.back());
            inputs.pop_back();
        }
        std::vector<int> positions;
        if (flags.get_all)
            positions = all_of(inputs);
        else if (!flags.get_by_list)
            positions = {0};
        return differentiate(f, inputs, positions,
                             flags.get_by_list ? parameters : ParameterTuple(), sens);
    };
}

std::function<Gradients(const std::vector<Tensor> &)> value_and_grad(Function f,
                                                                     std::vector<int> positions,
                                                                     ParameterTuple parameters) {
    return value_and_grad(alone(std::move(f)), std::move(positions), std::move(parameters));
}

std::function<Gradients(const std::vector<Tensor> &)> value_and_grad(FunctionWithAux f,
                                                                     std::vector<int> positions,
                                                                     ParameterTuple parameters) {
    return [f = std::move(f), positions = std::move(positions),
            parameters = std::move(parameters)](const std::vector<Tensor> &inputs) {
        return differentiate(f, inputs, positions, parameters, {});
    };
}

Vjp vjp(const Function &f, const std::vector<Tensor> &inputs, const ParameterTuple &parameters) {
    return vjp(alone(f), inputs, parameters);
}

Vjp vjp(const FunctionWithAux &f, const std::vector<Tensor> &inputs,
        const ParameterTuple &parameters) {
    const auto r = std::make_shared<Recording>(inputs, all_of(inputs), parameters);
    r->run(f);
    return {r->values().value, r->values().aux,
            [r](const Tensor &v) { return r->gradients(v, true); }};
}

Jvp jvp(const Function &f, const std::vector<Tensor> &inputs, const std::vector<Tensor> &v) {
    return jvp(alone(f), inputs, v);
}

// vjp_fn multiplies its argument by the transposed Jacobian, so its own gradient multiplies by the
// Jacobian.
Jvp jvp(const FunctionWithAux &f, const std::vector<Tensor> &inputs, const std::vector<Tensor> &v) {
    if (v.size() != inputs.size()) {
        throw GradError("jvp", "v are " + std::to_string(v.size()) + " tensors, expected " +
                                   std::to_string(inputs.size()));
    }
    for (size_t k = 0; k < v.size(); k++) {
        if (!inputs[k].defined() || !v[k].defined()) {
            throw GradError("jvp", (inputs[k].defined() ? "v" : "input ") + std::to_string(k) +
                                       " is an undefined tensor");
        }
        if (!(v[k].shape() == inputs[k].shape())) {
            throw GradError("jvp", "v" + std::to_string(k) + " has shape " + v[k].shape().text() +
                                       ", expected " + inputs[k].shape().text());
        }
    }
    const Vjp inner = vjp(f, inputs);
    Tape tape;
    const Tensor u = Tensor::zeros(inner.value.shape(), inner.value.dtype());
    tape.watch(u);
    const std::vector<Tensor> rows = inner.vjp_fn(u).inputs;
    std::vector<Tensor> y, along;
    for (size_t k = 0; k < rows.size(); k++) {
        if (is_float(rows[k].dtype())) {
            y.push_back(rows[k]);
            along.push_back(v[k]);
        }
    }
    return {inner.value, inner.aux, tape.gradient(y, {u}, along)[0]};
}

Tensor stop_gradient(const Tensor &t) {
    return t.with_view(t.shape(), t.strides(), 0);
}

}  // namespace halyard
