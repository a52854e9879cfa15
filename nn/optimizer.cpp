#include "nn/optimizer.h"

#include <algorithm>
#include <cmath>

#include "primitives/tape.h"
#include "registry/error.h"

namespace halyard::nn {

struct Optimizer::State {
    struct Setting {
        LearningRate lr;
        double weight_decay;
    };
    std::shared_ptr<Rule> rule;
    ParameterTuple params;
    std::vector<Setting> settings;  // one per parameter
    double scale = 1;
    int64_t step = 0;
};

Optimizer::Optimizer(std::shared_ptr<Rule> rule, const Params &params, LearningRate lr, double weight_decay, double loss_scale)
    : state_(std::make_shared<State>()) {
    if (!(loss_scale > 0)) throw AttrError("optimizer", "loss_scale is " + std::to_string(loss_scale) + ", expected more than 0");
    State &s = *state_;
    s.rule = std::move(rule), s.scale = 1 / loss_scale;
    for (const ParamGroup &group : params.groups()) {
        const double decay = group.weight_decay.value_or(weight_decay);
        if (!(decay >= 0)) throw AttrError("optimizer", "weight_decay is " + std::to_string(decay) + ", expected at least 0");
        for (const Parameter &p : group.params) {
            if (!p.requires_grad()) throw AttrError("optimizer", "parameter " + p.name() + " doesn't require a gradient");
            if (std::any_of(s.params.begin(), s.params.end(), [&](const Parameter &o) { return o.same(p); }))
                throw AttrError("optimizer", "parameter " + p.name() + " is given twice");
            const bool normal = p.name().find("beta") != std::string::npos || p.name().find("gamma") != std::string::npos;
            const bool skip = normal && !params.grouped();
            s.params.push_back(p);
            s.settings.push_back({group.lr.value_or(lr), skip ? 0 : decay});
        }
    }
    if (s.params.empty()) throw AttrError("optimizer", "there are no parameters");
    s.rule->prepare(s.params);
}

void Optimizer::operator()(const std::vector<Tensor> &gradients) const {
    State &s = *state_;
    if (gradients.size() != s.params.size())
        throw ShapeError("optimizer", "gradients are " + std::to_string(gradients.size()) + ", expected " + std::to_string(s.params.size()));
    for (size_t i = 0; i < gradients.size(); i++)
        if (!(gradients[i].shape() == s.params[i].shape()))
            throw ShapeError("optimizer",
                             "gradient of " + s.params[i].name() + " has shape " + gradients[i].shape().text() + ", expected " + s.params[i].shape().text());
    const StopTape stop;
    for (size_t i = 0; i < gradients.size(); i++)
        s.rule->update({i, s.params[i].data(), gradients[i], s.settings[i].lr.at(s.step), s.settings[i].weight_decay, s.scale, s.step + 1});
    s.step++;
}

const ParameterTuple &Optimizer::parameters() const { return state_->params; }
double Optimizer::learning_rate(size_t parameter) const { return state_->settings.at(parameter).lr.at(state_->step); }
int64_t Optimizer::global_step() const { return state_->step; }

}  // namespace halyard::nn
