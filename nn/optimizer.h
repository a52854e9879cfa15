// Optimisers: rules that change parameters by their gradients. An Optimizer is a cheap handle; copies share their state.
//
// Before the rule sees a gradient g of parameter p it becomes  g / loss_scale + weight_decay * p  (L2, as in MindSpore).
// weight_decay skips parameters whose names hold "beta" or "gamma", unless the parameters are grouped.
#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "nn/learning_rate.h"
#include "primitives/parameter.h"

namespace halyard::nn {

struct ParamGroup {
    ParameterTuple params;
    std::optional<LearningRate> lr = {};  // else the optimiser's
    std::optional<double> weight_decay = {};
};

// What an optimiser works on: all parameters alike, or in groups.
class Params {
public:
    Params(ParameterTuple params) : groups_{{std::move(params)}} {}
    Params(std::vector<ParamGroup> groups) : groups_(std::move(groups)), grouped_(true) {}
    const std::vector<ParamGroup> &groups() const { return groups_; }
    bool grouped() const { return grouped_; }

private:
    std::vector<ParamGroup> groups_;
    bool grouped_ = false;
};

// One parameter of one step, as a rule gets it.
struct Update {
    size_t index;  // of the parameter, for the rule's own state
    const Tensor &p, &g;
    double lr, weight_decay, scale;  // g * scale + weight_decay * p is the gradient
    int64_t step;                    // from 1
};

class Optimizer {
public:
    struct Rule {
        virtual ~Rule() = default;
        virtual void prepare(const ParameterTuple &params) = 0;  // makes the state, once
        virtual void update(const Update &u) = 0;
    };
    // Throws AttrError: no parameters, one given twice, one without a gradient, numbers out of range.
    Optimizer(std::shared_ptr<Rule> rule, const Params &params, LearningRate lr, double weight_decay, double loss_scale);

    // Changes the parameters; gradients in the order of parameters(). Nothing is recorded on the tape.
    // Throws ShapeError when their number or a shape is wrong.
    void operator()(const std::vector<Tensor> &gradients) const;

    const ParameterTuple &parameters() const;
    double learning_rate(size_t parameter = 0) const;  // of the next step
    int64_t global_step() const;                       // steps taken

private:
    struct State;
    std::shared_ptr<State> state_;
};

struct MomentumOptions {
    double weight_decay = 0, loss_scale = 1;
    bool use_nesterov = false;
};

// v = momentum v + g;  p -= lr v, or with nesterov p -= lr (g + momentum v).
class Momentum : public Optimizer {
public:
    Momentum(const Params &params, LearningRate learning_rate, double momentum, const MomentumOptions &options = {});
};

struct SGDOptions {
    double momentum = 0, dampening = 0, weight_decay = 0;
    bool nesterov = false;
    double loss_scale = 1;
};

// Without momentum p -= lr g; else v = momentum v + (1 - dampening) g (first step: v = g), p -= lr v, or with nesterov p -= lr (g + momentum v).
class SGD : public Optimizer {
public:
    explicit SGD(const Params &params, LearningRate learning_rate = 0.1, const SGDOptions &options = {});
};

struct AdamOptions {
    double beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0, loss_scale = 1;
};

// m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) g^2;  p -= lr sqrt(1 - beta2^t) / (1 - beta1^t) m / (sqrt(v) + eps).
class Adam : public Optimizer {
public:
    explicit Adam(const Params &params, LearningRate learning_rate = 1e-3, const AdamOptions &options = {});
};

}  // namespace halyard::nn
