#include "nn/optimizer.h"

#include <algorithm>

#include "primitives/autograd/tape.h"
#include "primitives/operators.h"
#include "primitives/ops/binary.h"
#include "primitives/ops/reduce.h"
#include "registry/tensor/graph_listener.h"
#include "registry/tensor/host_step.h"

namespace halyard::nn {
namespace {

bool has(const ParameterTuple &params, const Parameter &p) {
    return std::any_of(params.begin(), params.end(), [&](const Parameter &o) { return o.same(p); });
}

// A constant rate is a Parameter, so that a checkpoint holds it and a callback may change it.
struct Rate {
    LearningRate schedule;
    Parameter number;  // undefined for lists and schedules
    Rate(const LearningRate &lr, const std::string &name) : schedule(lr) {
        if (lr.is_number()) number = Parameter(Tensor::scalar(lr.at(0), DType::f64), name, false);
    }
    double at(int64_t step) const {
        return number.defined() ? number.data().item() : schedule.at(step);
    }
};

struct Setting {
    std::shared_ptr<Rate> rate;
    double weight_decay;
    bool centralized;
};

int64_t count_of(const Parameter &p) {
    return p.data().values<int32_t>()[0];
}
Parameter zero_count(const char *name) {
    return Parameter(Tensor::zeros({1}, DType::i32), name, false);
}

// Returns f(), which reads tensors on the host that a listener shall not hear of, because a
// captured graph reads them anew in each run.
template<class F> auto unheard(const F &f) {
    const ListenerScope nobody(nullptr);
    return f();
}

// Sets a count to next(count), in each run of a captured graph.
template<class F> void set_count(const Parameter &p, const F &next) {
    run_on_host("count " + p.name(), {}, [p, next](std::span<const Tensor>) {
        p.data().set({0}, double(next(count_of(p))));
        return std::vector<Tensor>();
    });
}

ParameterTuple like(const ParameterTuple &params, const std::string &prefix, double init) {
    ParameterTuple out;
    for (const Parameter &p : params) {
        std::string name = prefix;
        name += "." + p.name();
        out.emplace_back(Tensor::full(p.shape(), init, p.data().dtype()), name, false);
    }
    return out;
}

// Subtracts the mean over all dimensions but the first.
Tensor centralized(const Tensor &g) {
    Ints axes;
    for (int a = 1; a < g.rank(); a++)
        axes.push_back(a);
    return g - F::reduce_mean(g, axes, true);
}

}  // namespace

struct Optimizer::State {
    std::shared_ptr<Rule> rule;
    ParameterTuple params;
    std::vector<Setting> settings;             // one per parameter
    std::vector<std::shared_ptr<Rate>> rates;  // the optimiser's own first
    double scale = 1;
    int64_t calls = 1;    // per update
    ParameterTuple sums;  // of their gradients
    Parameter counter;    // calls since the last update
    Parameter global_step = zero_count("global_step");
    std::function<void(const std::vector<Tensor> &)> listener;

    int64_t step() const { return count_of(global_step); }
    bool states_numbers() const;
    std::vector<double> numbers() const;
    int64_t phase() const;
    bool repeats_its_calls() const;
    std::vector<Tensor> written() const;
    void add(const ParamGroup &group, const std::shared_ptr<Rate> &rate, double decay,
             bool grouped);
    void sort(const ParameterTuple &order);
};

bool Optimizer::State::states_numbers() const {
    const Setting &first = settings[0];
    const int64_t now = step();
    return rule->numbers({0, first.rate->at(now), first.weight_decay, now + 1}).has_value();
}

// Returns the rule's numbers of the next step for one parameter after the other.
std::vector<double> Optimizer::State::numbers() const {
    std::vector<double> all;
    const int64_t now = step();
    for (size_t i = 0; i < settings.size(); i++) {
        const Setting &s = settings[i];
        const auto own = rule->numbers({i, s.rate->at(now), s.weight_decay, now + 1});
        all.insert(all.end(), own->begin(), own->end());
    }
    return all;
}

// The phase of a rule, and where in an accumulation the next call is: at its begin, at its end.
int64_t Optimizer::State::phase() const {
    const int64_t rules = rule->phase(step() + 1);
    if (calls == 1) return 4 * rules;
    const int64_t count = count_of(counter);
    return 4 * rules + 2 * (count + 1 == calls) + (count == 0);
}

bool Optimizer::State::repeats_its_calls() const {
    if (calls != 1) return false;
    const int64_t next = step() + 1, first = rule->phase(next);
    for (int64_t k = 1; k <= 1000; k++)
        if (rule->phase(next + k) != first) return false;
    for (int64_t k = 1024; k < int64_t(1) << 60; k *= 2)
        if (rule->phase(next + k) != first) return false;
    return true;
}

std::vector<Tensor> Optimizer::State::written() const {
    std::vector<Tensor> all(params.begin(), params.end());
    all.insert(all.end(), rule->state().begin(), rule->state().end());
    return all;
}

Params::Params(std::vector<ParamGroup> groups) : grouped_(true) {
    for (ParamGroup &group : groups) {
        if (group.order_params.empty()) {
            groups_.push_back(std::move(group));
            continue;
        }
        if (!group.params.empty() || group.lr || group.weight_decay || group.grad_centralization ||
            !order_.empty())
            throw AttrError("optimizer", "order_params stands in a group of its own, once");
        order_ = std::move(group.order_params);
    }
}

Tensor Update::gradient() const {
    const Tensor raw = scale == 1 ? g : g * scale;
    return weight_decay == 0 ? raw : raw + p * weight_decay;
}

ParameterTuple Optimizer::Rule::clone(const ParameterTuple &params, const std::string &prefix,
                                      double init) {
    ParameterTuple out = like(params, prefix, init);
    state_.insert(state_.end(), out.begin(), out.end());
    return out;
}

void Optimizer::State::add(const ParamGroup &group, const std::shared_ptr<Rate> &rate, double decay,
                           bool grouped) {
    if (grouped && group.params.empty()) throw AttrError("optimizer", "a group has no parameters");
    if (!(decay >= 0)) {
        throw AttrError("optimizer",
                        "weight_decay is " + std::to_string(decay) + ", expected at least 0");
    }
    for (const Parameter &p : group.params) {
        if (!p.requires_grad())
            throw AttrError("optimizer", "parameter " + p.name() + " doesn't require a gradient");
        if (has(params, p))
            throw AttrError("optimizer", "parameter " + p.name() + " is given twice");
        const bool normal = p.name().find("beta") != std::string::npos ||
                            p.name().find("gamma") != std::string::npos;
        params.push_back(p);
        settings.push_back({rate, normal && !grouped ? 0 : decay,
                            group.grad_centralization && p.shape().rank() > 1});
    }
}

void Optimizer::State::sort(const ParameterTuple &order) {
    if (order.size() != params.size()) {
        throw AttrError("optimizer", "order_params are " + std::to_string(order.size()) +
                                         ", expected the groups' " + std::to_string(params.size()));
    }
    std::vector<Setting> sorted;
    for (const Parameter &p : order) {
        const auto at = std::find_if(params.begin(), params.end(),
                                     [&](const Parameter &o) { return o.same(p); });
        if (at == params.end()) {
            throw AttrError("optimizer",
                            "parameter " + p.name() + " of order_params is in no group");
        }
        sorted.push_back(settings[size_t(at - params.begin())]);
    }
    params = order;
    settings = std::move(sorted);
}

Optimizer::Optimizer(std::shared_ptr<Rule> rule, const Params &params, const LearningRate &lr,
                     double weight_decay, double loss_scale)
    : state_(std::make_shared<State>()) {
    if (!(loss_scale > 0)) {
        throw AttrError("optimizer",
                        "loss_scale is " + std::to_string(loss_scale) + ", expected more than 0");
    }
    State &s = *state_;
    s.rule = std::move(rule);
    s.scale = 1 / loss_scale;
    s.rates = {std::make_shared<Rate>(lr, "learning_rate")};
    for (size_t k = 0; k < params.groups().size(); k++) {
        const ParamGroup &group = params.groups()[k];
        if (group.lr) {
            s.rates.push_back(
                std::make_shared<Rate>(*group.lr, "learning_rate_group_" + std::to_string(k)));
        }
        s.add(group, group.lr ? s.rates.back() : s.rates.front(),
              group.weight_decay.value_or(weight_decay), params.grouped());
    }
    if (s.params.empty()) throw AttrError("optimizer", "there are no parameters");
    if (!params.order().empty()) s.sort(params.order());
    s.rule->prepare(s.params);
}

Optimizer::Optimizer(const Optimizer &inner,
                     const std::function<std::shared_ptr<Rule>(std::shared_ptr<Rule>)> &around)
    : state_(std::make_shared<State>(*inner.state_)) {
    state_->rule = around(inner.state_->rule);
    state_->rule->prepare(state_->params);
}

Optimizer::Optimizer(const Optimizer &inner, int64_t calls)
    : state_(std::make_shared<State>(*inner.state_)) {
    if (calls < 1) {
        throw AttrError("Accumulator",
                        "accumulate_step is " + std::to_string(calls) + ", expected at least 1");
    }
    State &s = *state_;
    s.calls *= calls;
    s.sums = like(s.params, "accumulate", 0);
    s.counter = zero_count("accumulate_counter");
}

// Adds the gradients up. Returns true if an update is due.
bool Optimizer::accumulate(const std::vector<Tensor> &gradients) const {
    const State &s = *state_;
    const int64_t before = unheard([&] { return count_of(s.counter); });
    for (size_t i = 0; i < gradients.size(); i++)
        s.sums[i].set_data(before ? s.sums[i].data() + gradients[i] : gradients[i]);
    set_count(s.counter, [calls = s.calls](int64_t count) { return (count + 1) % calls; });
    return before + 1 == s.calls;
}

void Optimizer::check(const std::vector<Tensor> &gradients) const {
    const State &s = *state_;
    if (gradients.size() != s.params.size()) {
        throw ShapeError("optimizer", "gradients are " + std::to_string(gradients.size()) +
                                          ", expected " + std::to_string(s.params.size()));
    }
    for (size_t i = 0; i < gradients.size(); i++) {
        if (!(gradients[i].shape() == s.params[i].shape())) {
            throw ShapeError("optimizer", "gradient of " + s.params[i].name() + " has shape " +
                                              gradients[i].shape().text() + ", expected " +
                                              s.params[i].shape().text());
        }
    }
}

// `numbers` are the rule's for all parameters, or none.
void Optimizer::update(const std::vector<Tensor> &gradients,
                       std::span<const double> numbers) const {
    const State &s = *state_;
    const int64_t step = unheard([&] { return s.step(); });
    const double scale = s.scale / double(s.calls);
    const size_t each = numbers.size() / gradients.size();
    for (size_t i = 0; i < gradients.size(); i++) {
        const Tensor &g = s.calls > 1 ? s.sums[i].data() : gradients[i];
        const Setting &setting = s.settings[i];
        const double lr = unheard([&] { return setting.rate->at(step); });
        const double decay = setting.weight_decay;
        const std::span<const double> own = numbers.subspan(i * each, each);
        if (!setting.centralized) {
            s.rule->update({i, s.params[i], g, lr, decay, scale, step + 1, own});
            continue;
        }
        const bool apart = s.rule->decouples_weight_decay();
        const Update raw{i, s.params[i], g, lr, apart ? 0 : decay, scale, step + 1};
        s.rule->update(
            {i, s.params[i], centralized(raw.gradient()), lr, apart ? decay : 0, 1, step + 1, own});
    }
}

bool Optimizer::operator()(const std::vector<Tensor> &gradients) const {
    State &s = *state_;
    check(gradients);
    const StopTape stop;
    CallListener *const captured_by = call_listener();
    if (captured_by && s.listener) captured_by->refuse("a function gets the gradients");
    if (s.listener) s.listener(gradients);
    const bool is_due = s.calls == 1 || accumulate(gradients);
    const bool states_numbers = unheard([&] { return s.states_numbers(); });
    if (captured_by && !states_numbers)
        captured_by->refuse("the optimiser's rule doesn't state the numbers of its steps");
    const NumberSource source{
        [state = state_, is_due] { return is_due ? state->numbers() : std::vector<double>(); },
        [state = state_] { return state->phase(); }};
    if (states_numbers) {
        const std::vector<Tensor> written = captured_by ? s.written() : std::vector<Tensor>();
        run_with_numbers(source, written, [&](std::span<const double> numbers) {
            if (is_due) update(gradients, numbers);
        });
    } else if (is_due) {
        update(gradients, {});
    }
    if (is_due) set_count(s.global_step, [](int64_t count) { return count + 1; });
    return true;
}

bool Optimizer::is_captured() const {
    return !state_->listener && state_->states_numbers();
}

int64_t Optimizer::phase() const {
    return state_->phase();
}

bool Optimizer::repeats_its_calls() const {
    return state_->repeats_its_calls();
}

void Optimizer::on_gradients(std::function<void(const std::vector<Tensor> &)> listener) const {
    state_->listener = std::move(listener);
}

const ParameterTuple &Optimizer::parameters() const {
    return state_->params;
}

ParameterTuple Optimizer::get_parameters() const {
    ParameterTuple all{state_->global_step};
    for (const auto &rate : state_->rates)
        if (rate->number.defined()) all.push_back(rate->number);
    all.insert(all.end(), state_->rule->state().begin(), state_->rule->state().end());
    if (state_->counter.defined()) all.push_back(state_->counter);
    all.insert(all.end(), state_->sums.begin(), state_->sums.end());
    return all;
}

std::map<std::string, Parameter> Optimizer::parameters_dict() const {
    std::map<std::string, Parameter> out;
    for (const Parameter &p : get_parameters()) {
        if (!out.emplace(p.name(), p).second)
            throw AttrError("optimizer", "two parameters are named \"" + p.name() + "\"");
    }
    return out;
}

double Optimizer::learning_rate(size_t parameter) const {
    return state_->settings.at(parameter).rate->at(state_->step());
}

void Optimizer::set_learning_rate(double lr) const {
    const Rate &rate = *state_->rates.front();
    if (!rate.number.defined()) {
        throw AttrError("optimizer",
                        "the learning rate is a list or a schedule, which nobody else can set");
    }
    rate.number.set_data(Tensor::scalar(LearningRate(lr).at(0), DType::f64));
}

int64_t Optimizer::global_step() const {
    return state_->step();
}

}  // namespace halyard::nn
