// The update rules of the adaptive optimisers: fused kernels where they exist, otherwise
// compositions of elementwise ops.
#include <algorithm>
#include <cmath>

#include "nn/optimizer_adaptive.h"
#include "nn/rules.h"
#include "primitives/operators.h"
#include "primitives/ops/binary.h"
#include "primitives/ops/creation.h"
#include "primitives/ops/formula.h"
#include "primitives/ops/optimizer_adaptive.h"
#include "primitives/ops/select.h"
#include "primitives/ops/unary.h"

namespace halyard::nn {
namespace {

struct AdagradRule : RateRule {
    explicit AdagradRule(const AdagradOptions &o) : initial(o.accum) {
        check_not_negative("Adagrad", "accum", initial);
    }
    void prepare(const ParameterTuple &params) override { s = clone(params, "accum", initial); }
    void update(const Update &u) override {
        F::adagrad_(u.p, s[u.index], u.g, u.numbers[0], 1e-10, u.weight_decay, u.scale);
    }
    double initial;
    ParameterTuple s;
};

struct ProximalAdagradRule : RateRule {
    explicit ProximalAdagradRule(const ProximalAdagradOptions &options) : o(options) {
        const char *name = "ProximalAdagrad";
        check_not_negative(name, "accum", o.accum);
        check_not_negative(name, "l1", o.l1);
        check_not_negative(name, "l2", o.l2);
    }
    void prepare(const ParameterTuple &params) override { s = clone(params, "accum", o.accum); }
    void update(const Update &u) override {
        const Tensor g = u.gradient();
        const Tensor &sum = s[u.index];
        sum.assign(F::addcmul(sum, g, g));
        const Tensor rate = u.numbers[0] / F::sqrt(sum);
        const Tensor moved = u.p - rate * g;
        const Tensor size = F::relu(F::abs(moved) - rate * o.l1);
        u.p.assign(F::sign(moved) * size / (rate * o.l2 + 1));
    }
    ProximalAdagradOptions o;
    ParameterTuple s;
};

struct AdadeltaRule : RateRule {
    explicit AdadeltaRule(const AdadeltaOptions &o) : rho(o.rho), eps(o.epsilon) {
        check_fraction("Adadelta", "rho", rho);
        check_not_negative("Adadelta", "epsilon", eps);
    }
    void prepare(const ParameterTuple &params) override {
        s = clone(params, "accum");
        steps = clone(params, "accum_update");
    }
    void update(const Update &u) override {
        const Tensor g = u.gradient();
        update_moving_mean(s[u.index], rho, F::square(g));
        const Tensor ratio = (steps[u.index].data() + eps) / (s[u.index].data() + eps);
        const Tensor d = F::sqrt(ratio) * g;
        update_moving_mean(steps[u.index], rho, F::square(d));
        u.p.assign(u.p - d * u.numbers[0]);
    }
    double rho, eps;
    ParameterTuple s, steps;
};

struct RmsPropRule : RateRule {
    explicit RmsPropRule(const RMSPropOptions &options) : o(options) {
        check_not_negative("RMSProp", "decay", o.decay);
        check_not_negative("RMSProp", "momentum", o.momentum);
        check_positive("RMSProp", "epsilon", o.epsilon);
    }
    void prepare(const ParameterTuple &params) override {
        if (o.centered) a = clone(params, "mean_grad");
        s = clone(params, "mean_square", 1);
        m = clone(params, "moment");
    }
    void update(const Update &u) override {
        const size_t i = u.index;
        if (o.centered) {
            F::centered_rms_prop_(u.p, a[i], s[i], m[i], u.g, u.numbers[0], o.decay, o.momentum,
                                  o.epsilon, u.weight_decay, u.scale);
        } else {
            F::rms_prop_(u.p, s[i], m[i], u.g, u.numbers[0], o.decay, o.momentum, o.epsilon,
                         u.weight_decay, u.scale);
        }
    }
    RMSPropOptions o;
    ParameterTuple a, s, m;
};

struct FtrlRule : RateRule {
    explicit FtrlRule(const FTRLOptions &options) : o(options) {
        check_not_negative("FTRL", "initial_accum", o.initial_accum);
        check_not_negative("FTRL", "l1", o.l1);
        check_not_negative("FTRL", "l2", o.l2);
        if (!(o.lr_power <= 0)) {
            throw AttrError("FTRL",
                            "lr_power is " + std::to_string(o.lr_power) + ", expected at most 0");
        }
    }
    std::optional<std::vector<double>> numbers(const NextUpdate &next) const override {
        check_positive("FTRL", "learning_rate", next.lr);
        return std::vector{next.lr};
    }
    void prepare(const ParameterTuple &params) override {
        s = clone(params, "moments", o.initial_accum);
        linear = clone(params, "linear");
    }
    void update(const Update &u) override {
        const Tensor g = u.gradient();
        const Tensor &sum = s[u.index];
        const Tensor &l = linear[u.index];
        const Tensor before = power(sum);
        sum.assign(F::addcmul(sum, g, g));
        const Tensor now = power(sum);
        l.assign(l + g - (now - before) / u.numbers[0] * u.p);
        const Tensor step = (F::sign(l) * o.l1 - l) / (now / u.numbers[0] + 2 * o.l2);
        u.p.assign(F::select(F::greater(F::abs(l), o.l1), step, 0));
    }
    Tensor power(const Tensor &x) const {
        return o.lr_power == -0.5 ? F::sqrt(x) : F::pow(x, -o.lr_power);
    }
    FTRLOptions o;
    ParameterTuple s, linear;
};

struct AsgdRule : Optimizer::Rule {
    explicit AsgdRule(const ASGDOptions &options) : o(options) {}
    void prepare(const ParameterTuple &params) override {
        for (const Parameter &p : params)
            eta.emplace_back(Tensor::scalar(0, DType::f64), "eta_" + p.name(), false);
        state_ = eta;
        average = clone(params, "ax_");
    }
    double share(int64_t step) const { return 1 / std::max(1.0, double(step) - 1 - o.t0); }
    bool sets_average(int64_t step) const { return share(step) == 1; }
    int64_t phase(int64_t step) const override { return sets_average(step); }
    std::optional<std::vector<double>> numbers(const NextUpdate &next) const override {
        const auto t = double(next.step);
        const double rate = next.step == 1 ? next.lr : eta[next.index].data().item();
        const double later = next.lr / std::pow(1 + o.lambd * next.lr * t, o.alpha);
        return std::vector{1 - o.lambd * rate, rate, share(next.step), later};
    }
    void update(const Update &u) override {
        const double kept = u.numbers[0];
        const double rate = u.numbers[1];
        const double mu = u.numbers[2];
        const double later = u.numbers[3];
        u.p.assign(u.p * kept - u.gradient() * rate);
        const Tensor &mean = average[u.index];
        if (sets_average(u.step))
            mean.assign(u.p);
        else
            mean.assign(mean + (u.p - mean) * mu);
        eta[u.index].data().fill(later);
    }
    ASGDOptions o;
    ParameterTuple eta, average;
};

struct RpropRule : RateRule {
    explicit RpropRule(const RpropOptions &options) : o(options) {
        const auto [minus, plus] = o.etas;
        const auto [min_step, max_step] = o.step_sizes;
        if (!(minus > 0 && minus < 1 && plus > 1)) {
            throw AttrError("Rprop", "etas are " + std::to_string(minus) + " and " +
                                         std::to_string(plus) +
                                         ", expected one below and one above 1");
        }
        if (!(min_step <= max_step)) {
            throw AttrError("Rprop", "step_sizes are " + std::to_string(min_step) + " and " +
                                         std::to_string(max_step) +
                                         ", expected the smaller one first");
        }
    }
    void prepare(const ParameterTuple &params) override {
        before = clone(params, "prev");
        steps = clone(params, "step_size");
    }
    int64_t phase(int64_t step) const override { return step == 1; }
    void update(const Update &u) override {
        const Tensor g = u.gradient();
        const Tensor &last = before[u.index];
        const Tensor &size = steps[u.index];
        if (u.step == 1) size.assign(Tensor::full(size.shape(), u.numbers[0], size.dtype()));
        const Tensor same = g * last;
        const Tensor turned = F::less(same, 0);
        const Tensor factor = F::select(
            turned, o.etas.first,
            F::select(F::greater(same, 0), o.etas.second, F::ones_like(same)));
        size.assign(F::clip_by_value(size * factor, o.step_sizes.first, o.step_sizes.second));
        last.assign(F::select(turned, 0, g));
        u.p.assign(u.p - F::sign(last) * size);
    }
    RpropOptions o;
    ParameterTuple before, steps;
};

}  // namespace

Adagrad::Adagrad(const Params &params, const LearningRate &lr, const AdagradOptions &o)
    : Optimizer(std::make_shared<AdagradRule>(o), params, lr, o.weight_decay, o.loss_scale) {}

ProximalAdagrad::ProximalAdagrad(const Params &params, const LearningRate &lr,
                                 const ProximalAdagradOptions &o)
    : Optimizer(std::make_shared<ProximalAdagradRule>(o), params, lr, o.weight_decay,
                o.loss_scale) {}

Adadelta::Adadelta(const Params &params, const LearningRate &lr, const AdadeltaOptions &o)
    : Optimizer(std::make_shared<AdadeltaRule>(o), params, lr, o.weight_decay, o.loss_scale) {}

RMSProp::RMSProp(const Params &params, const LearningRate &lr, const RMSPropOptions &o)
    : Optimizer(std::make_shared<RmsPropRule>(o), params, lr, o.weight_decay, o.loss_scale) {}

FTRL::FTRL(const Params &params, const LearningRate &lr, const FTRLOptions &o)
    : Optimizer(std::make_shared<FtrlRule>(o), params, lr, o.weight_decay, o.loss_scale) {}

ASGD::ASGD(const Params &params, const LearningRate &lr, const ASGDOptions &o)
    : Optimizer(std::make_shared<AsgdRule>(o), params, lr, o.weight_decay, 1) {}

Rprop::Rprop(const Params &params, const LearningRate &lr, const RpropOptions &o)
    : Optimizer(std::make_shared<RpropRule>(o), params, lr, o.weight_decay, 1) {}

}  // namespace halyard::nn
