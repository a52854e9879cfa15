// Optimizer: a rule that updates parameters by their gradients, and the rule's state. It is a cheap
// handle; copies share their state.
//
// The rule gets g / loss_scale + weight_decay * p in place of the gradient g of a parameter p (L2
// regularisation, as in MindSpore), unless the rule's own formula has the decay. weight_decay skips
// parameters whose names contain "beta" or "gamma", unless the parameters are grouped.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "nn/learning_rate.h"
#include "primitives/parameter.h"

namespace halyard::nn {

// A group of parameters with options of its own. A group with nothing but order_params fixes the
// order of all parameters in the optimiser.
struct ParamGroup {
    ParameterTuple params = {};
    std::optional<LearningRate> lr = {};      // empty: the optimiser's
    std::optional<double> weight_decay = {};  // empty: the optimiser's
    // Subtracts the mean of each output channel's gradient, for parameters of rank 2 and more.
    bool grad_centralization = false;
    ParameterTuple order_params = {};
};

// The parameters of an optimiser: one list, or groups.
class Params {
public:
    Params(ParameterTuple params) : groups_{{.params = std::move(params)}} {}
    // Throws AttrError if order_params is given with other fields, twice, or does not list exactly
    // the groups' parameters.
    Params(std::vector<ParamGroup> groups);
    const std::vector<ParamGroup> &groups() const { return groups_; }
    bool grouped() const { return grouped_; }
    // Returns the order given by order_params; empty if the groups' order holds.
    const ParameterTuple &order() const { return order_; }

private:
    std::vector<ParamGroup> groups_;
    ParameterTuple order_;
    bool grouped_ = false;
};

// The update of one parameter in one step.
struct Update {
    size_t index;  // of the parameter, by which a rule finds its state
    const Tensor &p, &g;
    double lr, weight_decay, scale;
    int64_t step;                          // counts from 1
    std::span<const double> numbers = {};  // the rule's numbers(), if it states them
    // Returns g * scale + weight_decay * p.
    Tensor gradient() const;
};

// What the numbers of a parameter's next update depend on.
struct NextUpdate {
    size_t index;  // of the parameter, by which a rule finds its state
    double lr, weight_decay;
    int64_t step;  // counts from 1
};

class Optimizer {
public:
    class Rule {
    public:
        virtual ~Rule() = default;
        // Creates the state. It is called once.
        virtual void prepare(const ParameterTuple &params) = 0;
        virtual void update(const Update &u) = 0;
        // Returns the numbers that depend on rate and step, or on a state that the host reads.
        // update() takes them from Update::numbers and passes them on as they are, so that captured
        // graphs can compute them anew in each run. They are as many in every step. A rule that
        // states none, the default, is not captured: it uses lr and step as it likes.
        virtual std::optional<std::vector<double>> numbers(const NextUpdate & /*next*/) const {
            return {};
        }
        // Returns another number for a step in which update() makes other calls.
        virtual int64_t phase(int64_t /*step*/) const { return 0; }
        // Returns true if the rule's formula contains the weight decay, which is then not added to
        // the gradient.
        virtual bool decouples_weight_decay() const { return false; }
        const ParameterTuple &state() const { return state_; }

    protected:
        // Returns parameters of the shapes of `params`, named "<prefix>.<name>" and filled with
        // `init`.
        ParameterTuple clone(const ParameterTuple &params, const std::string &prefix,
                             double init = 0);
        ParameterTuple state_;
    };

    // Throws AttrError if there are no parameters, a group is empty, a parameter is given twice or
    // requires no gradient, or a number is out of range.
    Optimizer(std::shared_ptr<Rule> rule, const Params &params, const LearningRate &lr,
              double weight_decay, double loss_scale);

    // Updates the parameters. `gradients` are in the order of parameters(). Nothing is recorded on
    // the tape. Returns true, which depend() takes. Throws ShapeError if their number or a shape is
    // wrong.
    bool operator()(const std::vector<Tensor> &gradients) const;

    // Returns the parameters that are updated.
    const ParameterTuple &parameters() const;

    // Returns the state, which checkpoints hold: "global_step" i32[1]; constant rates as
    // "learning_rate" and, of groups with their own, "learning_rate_group_1" f64[]; and the rule's
    // state, such as "moments.conv1.weight".
    ParameterTuple get_parameters() const;
    std::map<std::string, Parameter> parameters_dict() const;

    // Returns true if GRAPH_MODE captures the update: the rule states its numbers, and no function
    // gets the gradients.
    bool is_captured() const;
    // Returns a number for the calls that the next update makes, which may be others in a first
    // step. A captured graph belongs to one such number.
    int64_t phase() const;
    // Returns true if all updates from the next one on make the same calls. A rule's phase is taken
    // to change in the next 1,000 steps or once for good.
    bool repeats_its_calls() const;

    // Sets a function that gets the gradients of each call before they are used, still scaled by
    // the loss scale. Null removes it. All copies share one listener.
    void on_gradients(std::function<void(const std::vector<Tensor> &)> listener) const;

    // Returns the rate of a parameter in the next step.
    double learning_rate(size_t parameter = 0) const;
    // Sets the rate of the groups without one of their own. Throws AttrError if it is a list or a
    // schedule.
    void set_learning_rate(double lr) const;
    // Returns the number of steps taken.
    int64_t global_step() const;

protected:
    // Takes the parameters, rates and steps of `inner` and wraps its rule by `around`.
    Optimizer(const Optimizer &inner,
              const std::function<std::shared_ptr<Rule>(std::shared_ptr<Rule>)> &around);
    // Calls `inner` with the mean of the gradients of every `calls` calls.
    Optimizer(const Optimizer &inner, int64_t calls);

private:
    struct State;
    bool accumulate(const std::vector<Tensor> &gradients) const;
    void check(const std::vector<Tensor> &gradients) const;
    void update(const std::vector<Tensor> &gradients, std::span<const double> numbers) const;
    std::shared_ptr<State> state_;
};

}  // namespace halyard::nn
