// Optimizer: a rule that changes parameters by their gradients, with its state. A cheap handle;
// copies share their state.
//
// Before the rule sees a gradient g of parameter p it becomes  g / loss_scale + weight_decay * p
// (L2, as in MindSpore), unless the rule's own formula has the decay. weight_decay skips parameters
// whose names hold "beta" or "gamma", unless the parameters are grouped.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nn/learning_rate.h"
#include "primitives/parameter.h"

namespace halyard::nn {

// One group, or, with order_params and nothing else, the order in which the optimiser has all of
// them.
struct ParamGroup {
    ParameterTuple params = {};
    std::optional<LearningRate> lr = {};  // else the optimiser's
    std::optional<double> weight_decay = {};
    // of parameters of rank 2 and more: each output channel's gradient loses its mean
    bool grad_centralization = false;
    ParameterTuple order_params = {};
};

// What an optimiser works on: all parameters alike, or in groups.
class Params {
public:
    Params(ParameterTuple params) : groups_{{.params = std::move(params)}} {}
    // Throws AttrError: order_params beside other things, twice, or not the groups' parameters.
    Params(std::vector<ParamGroup> groups);
    const std::vector<ParamGroup> &groups() const { return groups_; }
    bool grouped() const { return grouped_; }
    const ParameterTuple &order() const { return order_; }  // empty: that of the groups

private:
    std::vector<ParamGroup> groups_;
    ParameterTuple order_;
    bool grouped_ = false;
};

// One parameter of one step, as a rule gets it.
struct Update {
    size_t index;  // of the parameter, for the rule's own state
    const Tensor &p, &g;
    double lr, weight_decay, scale;
    int64_t step;             // from 1
    Tensor gradient() const;  // g * scale + weight_decay * p
};

class Optimizer {
public:
    class Rule {
    public:
        virtual ~Rule() = default;
        virtual void prepare(const ParameterTuple &params) = 0;  // makes the state, once
        virtual void update(const Update &u) = 0;
        // weight decay stands in the rule's formula and stays out of the gradient
        virtual bool decays_apart() const { return false; }
        const ParameterTuple &state() const { return state_; }

    protected:
        // A state like the parameters, "<prefix>.<name>", that begins as `init` everywhere.
        ParameterTuple clone(const ParameterTuple &params, const std::string &prefix,
                             double init = 0);
        ParameterTuple state_;
    };

    // Throws AttrError: no parameters or a group without any, one given twice, one without a
    // gradient, numbers out of range.
    Optimizer(std::shared_ptr<Rule> rule, const Params &params, const LearningRate &lr,
              double weight_decay, double loss_scale);

    // Changes the parameters; gradients in the order of parameters(). Nothing is recorded on the
    // tape. Always true, for depend(). Throws ShapeError when their number or a shape is wrong.
    bool operator()(const std::vector<Tensor> &gradients) const;

    const ParameterTuple &parameters() const;  // what it updates

    // Its own state, for checkpoints: "global_step" i32[1], rates that are numbers as
    // "learning_rate" (a group's own: "learning_rate_group_1") f64[], and the rule's,
    // "moments.conv1.weight".
    ParameterTuple get_parameters() const;
    std::map<std::string, Parameter> parameters_dict() const;

    // Who sees the gradients of each call before they are used, loss scale and all; null: nobody.
    // One listener, of all copies.
    void on_gradients(std::function<void(const std::vector<Tensor> &)> listener) const;

    double learning_rate(size_t parameter = 0) const;  // of the next step
    // of the groups without their own; throws AttrError where it is a list or a schedule
    void set_learning_rate(double lr) const;
    int64_t global_step() const;  // steps taken

protected:
    // The parameters, rates and steps of `inner`, whose rule runs inside of another one.
    Optimizer(const Optimizer &inner,
              const std::function<std::shared_ptr<Rule>(std::shared_ptr<Rule>)> &around);
    // `inner`, fed with the mean of the gradients of every `calls` calls.
    Optimizer(const Optimizer &inner, int64_t calls);

private:
    struct State;
    bool accumulate(const std::vector<Tensor> &gradients) const;
    std::shared_ptr<State> state_;
};

}  // namespace halyard::nn
