// The update rules of Momentum, SGD, the family of Adam, Lion and LARS. Each consists of one or a
// few fused kernels per parameter and step, which write in place.
#include "nn/rules.h"

#include <cmath>

#include "nn/optimizer.h"
#include "primitives/composites/optimizer/lamb.h"
#include "primitives/operators.h"
#include "primitives/ops/binary.h"
#include "primitives/ops/formula.h"
#include "primitives/ops/optimizer.h"
#include "primitives/ops/optimizer_adaptive.h"
#include "primitives/ops/optimizer_layerwise.h"
#include "primitives/ops/unary.h"

namespace halyard::nn {
namespace {

struct MomentumRule : RateRule {
    MomentumRule(double mu, bool nesterov_update) : momentum(mu), nesterov(nesterov_update) {
        check_not_negative("Momentum", "momentum", mu);
    }
    void prepare(const ParameterTuple &params) override { v = clone(params, "moments"); }
    void update(const Update &u) override {
        F::momentum_(u.p, v[u.index], u.g, u.numbers[0], momentum, u.weight_decay, nesterov,
                     u.scale);
    }
    double momentum;
    bool nesterov;
    ParameterTuple v;
};

struct SgdRule : Optimizer::Rule {
    explicit SgdRule(const SGDOptions &options) : o(options) {
        check_not_negative("SGD", "momentum", o.momentum);
        check_fraction("SGD", "dampening", o.dampening);
        if (o.nesterov && (o.momentum == 0 || o.dampening != 0))
            throw AttrError("SGD", "nesterov needs momentum above 0 and dampening 0");
    }
    void prepare(const ParameterTuple &params) override { v = clone(params, "accum"); }
    // The first step sets the buffer to the gradient, as a step without dampening on zeros does.
    std::optional<std::vector<double>> numbers(const NextUpdate &next) const override {
        return std::vector{next.lr, next.step == 1 ? 0 : o.dampening};
    }
    void update(const Update &u) override {
        F::sgd_(u.p, v[u.index], u.g, u.numbers[0], o.momentum, u.numbers[1], u.weight_decay,
                o.nesterov, u.scale);
    }
    SGDOptions o;
    ParameterTuple v;
};

// The state of the family of Adam: moving means of the gradients and of their squares.
struct Moments : Optimizer::Rule {
    Moments(const char *optimizer, double b1, double b2, double least, std::string first,
            std::string second)
        : beta1(b1), beta2(b2), eps(least), names{std::move(first), std::move(second)} {
        check_fraction(optimizer, "beta1", beta1);
        check_fraction(optimizer, "beta2", beta2);
        check_positive(optimizer, "eps", eps);
    }
    void prepare(const ParameterTuple &params) override {
        m = clone(params, names[0]);
        v = clone(params, names[1]);
    }
    double beta1, beta2, eps;
    std::string names[2];
    ParameterTuple m, v;
};

struct AdamRule : Moments {
    explicit AdamRule(const AdamOptions &o)
        : Moments("Adam", o.beta1, o.beta2, o.eps, "moment1", "moment2"), nesterov(o.use_nesterov),
          amsgrad(o.use_amsgrad) {
        if (nesterov && amsgrad)
            throw AttrError("Adam", "use_nesterov and use_amsgrad exclude each other");
    }
    void prepare(const ParameterTuple &params) override {
        Moments::prepare(params);
        if (amsgrad) max_moments = clone(params, "vhat");
    }
    std::optional<std::vector<double>> numbers(const NextUpdate &next) const override {
        const auto t = double(next.step);
        const double corrected = next.lr * std::sqrt(1 - std::pow(beta2, t)) /
                                 (1 - std::pow(beta1, t));
        return std::vector{corrected, -corrected};
    }
    void update(const Update &u) override {
        const double lr = u.numbers[0];
        const double minus_lr = u.numbers[1];
        const Tensor &m1 = m[u.index];
        const Tensor &m2 = v[u.index];
        if (!nesterov && !amsgrad)
            return F::adam_(u.p, m1, m2, u.g, lr, beta1, beta2, eps, u.weight_decay, u.scale);
        const Tensor g = u.gradient();
        update_moving_mean(m1, beta1, g);
        update_moving_mean(m2, beta2, F::square(g));
        Tensor ahead = m1;
        Tensor size = m2;
        if (nesterov) {
            ahead = m1.copy();
            update_moving_mean(ahead, beta1, g);
        }
        if (amsgrad) {
            max_moments[u.index].data().assign(F::maximum(max_moments[u.index].data(), m2));
            size = max_moments[u.index];
        }
        u.p.assign(F::addcdiv(u.p, ahead, F::sqrt(size) + eps, minus_lr));
    }
    bool nesterov, amsgrad;
    ParameterTuple max_moments;
};

struct AdamWeightDecayRule : Moments {
    // MindSpore keeps the betas in float32. Without bias correction the error of 1 - 0.999f shows:
    // 1.6e-5 after five steps.
    explicit AdamWeightDecayRule(const AdamWeightDecayOptions &o)
        : Moments("AdamWeightDecay", rounded(o.beta1), rounded(o.beta2), o.eps, "adam_m",
                  "adam_v") {}
    // GCC 12's vectoriser drops the rounding in double(float(v)) for two adjacent values.
    static double rounded(double v) { return Tensor::scalar(v, DType::f32).item(); }
    bool decouples_weight_decay() const override { return true; }
    std::optional<std::vector<double>> numbers(const NextUpdate &next) const override {
        return std::vector{next.lr};
    }
    void update(const Update &u) override {
        F::adam_weight_decay_(u.p, m[u.index], v[u.index], u.g, u.numbers[0], beta1, beta2, eps,
                              u.weight_decay, u.scale);
    }
};

struct AdamWRule : Moments {
    explicit AdamWRule(const AdamWOptions &o)
        : Moments("AdamW", o.beta1, o.beta2, o.eps, "exp_avg", "exp_avg_sq"), amsgrad(o.amsgrad) {}
    void prepare(const ParameterTuple &params) override {
        Moments::prepare(params);
        if (amsgrad) max_moments = clone(params, "max_exp_avg_sq");
    }
    bool decouples_weight_decay() const override { return true; }
    std::optional<std::vector<double>> numbers(const NextUpdate &next) const override {
        const auto t = double(next.step);
        const double root = std::sqrt(1 - std::pow(beta2, t));
        const double corrected = next.lr * root / (1 - std::pow(beta1, t));
        return std::vector{corrected, -corrected, eps * root, 1 - next.lr * next.weight_decay};
    }
    void update(const Update &u) override {
        const double lr = u.numbers[0];
        const double minus_lr = u.numbers[1];
        const double least = u.numbers[2];
        const double kept = u.numbers[3];
        if (u.weight_decay != 0) u.p.assign(u.p * kept);
        const Tensor &m1 = m[u.index];
        const Tensor &m2 = v[u.index];
        if (!amsgrad) return F::adam_(u.p, m1, m2, u.g, lr, beta1, beta2, least, 0.0, u.scale);
        const Tensor g = u.scale == 1 ? u.g : u.g * u.scale;
        update_moving_mean(m1, beta1, g);
        update_moving_mean(m2, beta2, F::square(g));
        const Tensor &largest = max_moments[u.index];
        largest.assign(F::maximum(largest, m2));
        u.p.assign(F::addcdiv(u.p, m1, F::sqrt(largest) + least, minus_lr));
    }
    bool amsgrad;
    ParameterTuple max_moments;
};

struct NAdamRule : Moments {
    explicit NAdamRule(const NAdamOptions &o)
        : Moments("NAdam", o.beta1, o.beta2, o.eps, "exp_avg", "exp_avg_sq"),
          momentum_decay(o.momentum_decay) {
        check_not_negative("NAdam", "momentum_decay", momentum_decay);
    }
    void prepare(const ParameterTuple &params) override {
        Moments::prepare(params);
        for (const Parameter &p : params)
            product.emplace_back(Tensor::scalar(1, DType::f64), "mu_product." + p.name(), false);
        state_.insert(state_.end(), product.begin(), product.end());
    }
    std::optional<std::vector<double>> numbers(const NextUpdate &next) const override {
        const auto t = double(next.step);
        const double mu = momentum_at(t);
        const double mu_next = momentum_at(t + 1);
        const double so_far = product[next.index].data().item() * mu;
        return std::vector{so_far, mu_next / (1 - so_far * mu_next), (1 - mu) / (1 - so_far),
                           1 / std::sqrt(1 - std::pow(beta2, t)), -next.lr};
    }
    void update(const Update &u) override {
        const double so_far = u.numbers[0];
        const double of_mean = u.numbers[1];
        const double of_gradient = u.numbers[2];
        const double correction = u.numbers[3];
        const double minus_lr = u.numbers[4];
        product[u.index].data().fill(so_far);
        const Tensor g = u.gradient();
        const Tensor &m1 = m[u.index];
        const Tensor &m2 = v[u.index];
        update_moving_mean(m1, beta1, g);
        update_moving_mean(m2, beta2, F::square(g));
        const Tensor along_mean = m1 * of_mean;
        const Tensor along_gradient = g * of_gradient;
        const Tensor size = F::sqrt(m2) * correction + eps;
        u.p.assign(F::addcdiv(u.p, along_mean + along_gradient, size, minus_lr));
    }
    double momentum_at(double t) const {
        return beta1 * (1 - 0.5 * std::pow(0.96, t * momentum_decay));
    }
    double momentum_decay;
    ParameterTuple product;
};

struct RAdamRule : Moments {
    explicit RAdamRule(const RAdamOptions &o)
        : Moments("RAdam", o.beta1, o.beta2, o.eps, "exp_avg", "exp_avg_sq") {}
    double longest() const { return 2 / (1 - beta2) - 1; }
    double length(int64_t step) const {
        const auto t = double(step);
        const double power = std::pow(beta2, t);
        return longest() - 2 * t * power / (1 - power);
    }
    int64_t phase(int64_t step) const override { return length(step) > 5; }
    std::optional<std::vector<double>> numbers(const NextUpdate &next) const override {
        const auto t = double(next.step);
        const double lr = next.lr / (1 - std::pow(beta1, t));
        const double now = length(next.step);
        if (!(now > 5)) return std::vector{lr};
        const double most = longest();
        const double rectified = std::sqrt((now - 4) * (now - 2) * most /
                                           ((most - 4) * (most - 2) * now));
        const double root = std::sqrt(1 - std::pow(beta2, t));
        return std::vector{lr * rectified * root};
    }
    void update(const Update &u) override {
        const double lr = u.numbers[0];
        const Tensor &m1 = m[u.index];
        const Tensor &m2 = v[u.index];
        if (phase(u.step)) {
            return F::adam_(u.p, m1, m2, u.g, lr, beta1, beta2, eps, u.weight_decay, u.scale);
        }
        const Tensor g = u.gradient();
        update_moving_mean(m1, beta1, g);
        update_moving_mean(m2, beta2, F::square(g));
        u.p.assign(u.p - m1 * lr);
    }
};

struct AdaMaxRule : Moments {
    explicit AdaMaxRule(const AdaMaxOptions &o)
        : Moments("AdaMax", o.beta1, o.beta2, o.eps, "moment1", "moment2") {}
    std::optional<std::vector<double>> numbers(const NextUpdate &next) const override {
        return std::vector{next.lr / (1 - std::pow(beta1, double(next.step)))};
    }
    void update(const Update &u) override {
        F::ada_max_(u.p, m[u.index], v[u.index], u.g, u.numbers[0], beta1, beta2, eps,
                    u.weight_decay, u.scale);
    }
};

struct LambRule : Moments {
    explicit LambRule(const LambOptions &o)
        : Moments("Lamb", o.beta1, o.beta2, o.eps, "lamb_m", "lamb_v") {}
    bool decouples_weight_decay() const override { return true; }
    std::optional<std::vector<double>> numbers(const NextUpdate &next) const override {
        const auto t = double(next.step);
        return std::vector{-next.lr, 1 - std::pow(beta1, t), 1 - std::pow(beta2, t)};
    }
    void update(const Update &u) override {
        update_lamb(u.p, m[u.index], v[u.index], u.g,
                    {.beta1 = beta1,
                     .beta2 = beta2,
                     .eps = eps,
                     .weight_decay = u.weight_decay,
                     .scale = u.scale,
                     .minus_lr = u.numbers[0],
                     .correction1 = u.numbers[1],
                     .correction2 = u.numbers[2]});
    }
};

struct LionRule : RateRule {
    explicit LionRule(const LionOptions &o) : beta1(o.beta1), beta2(o.beta2) {
        check_fraction("Lion", "beta1", beta1);
        check_fraction("Lion", "beta2", beta2);
    }
    void prepare(const ParameterTuple &params) override { m = clone(params, "moment"); }
    bool decouples_weight_decay() const override { return true; }
    void update(const Update &u) override {
        F::lion_(u.p, m[u.index], u.g, u.numbers[0], beta1, beta2, u.weight_decay, u.scale);
    }
    double beta1, beta2;
    ParameterTuple m;
};

// The state is the inner rule's.
struct LarsRule : Optimizer::Rule {
    LarsRule(std::shared_ptr<Rule> rule, const LARSOptions &options)
        : inner(std::move(rule)), o(options) {
        check_positive("LARS", "epsilon", o.epsilon);
        check_positive("LARS", "coefficient", o.coefficient);
        if (!o.lars_filter) {
            o.lars_filter = [](const Parameter &p) {
                return p.name().find("LayerNorm") == std::string::npos &&
                       p.name().find("bias") == std::string::npos;
            };
        }
    }
    void prepare(const ParameterTuple &params) override {
        for (const Parameter &p : params)
            scaled.push_back(o.lars_filter(p));
        state_ = inner->state();
    }
    bool decouples_weight_decay() const override { return true; }
    // The rate, and the inner rule's numbers.
    std::optional<std::vector<double>> numbers(const NextUpdate &next) const override {
        auto all = inner->numbers({next.index, next.lr, 0, next.step});
        if (all) all->insert(all->begin(), next.lr);
        return all;
    }
    int64_t phase(int64_t step) const override { return inner->phase(step); }
    void update(const Update &u) override {
        const bool states_numbers = !u.numbers.empty();
        const double lr = states_numbers ? u.numbers[0] : u.lr;
        Tensor g = u.scale == 1 ? u.g : u.g * u.scale;
        if (scaled[u.index])
            g = F::lars_update(u.p, g, o.coefficient, u.weight_decay, o.epsilon, lr, o.use_clip);
        const auto own = states_numbers ? u.numbers.subspan(1) : u.numbers;
        inner->update({u.index, u.p, g, u.lr, 0, 1, u.step, own});
    }
    std::shared_ptr<Rule> inner;
    LARSOptions o;
    std::vector<bool> scaled;
};

}  // namespace

Momentum::Momentum(const Params &params, const LearningRate &lr, double momentum,
                   const MomentumOptions &o)
    : Optimizer(std::make_shared<MomentumRule>(momentum, o.use_nesterov), params, lr,
                o.weight_decay, o.loss_scale) {}

SGD::SGD(const Params &params, const LearningRate &lr, const SGDOptions &o)
    : Optimizer(std::make_shared<SgdRule>(o), params, lr, o.weight_decay, o.loss_scale) {}

Adam::Adam(const Params &params, const LearningRate &lr, const AdamOptions &o)
    : Optimizer(std::make_shared<AdamRule>(o), params, lr, o.weight_decay, o.loss_scale) {}

AdamWeightDecay::AdamWeightDecay(const Params &params, const LearningRate &lr,
                                 const AdamWeightDecayOptions &o)
    : Optimizer(std::make_shared<AdamWeightDecayRule>(o), params, lr, o.weight_decay, 1) {}

AdamW::AdamW(const Params &params, const LearningRate &lr, const AdamWOptions &o)
    : Optimizer(std::make_shared<AdamWRule>(o), params, lr, o.weight_decay, 1) {}

NAdam::NAdam(const Params &params, const LearningRate &lr, const NAdamOptions &o)
    : Optimizer(std::make_shared<NAdamRule>(o), params, lr, o.weight_decay, 1) {}

RAdam::RAdam(const Params &params, const LearningRate &lr, const RAdamOptions &o)
    : Optimizer(std::make_shared<RAdamRule>(o), params, lr, o.weight_decay, 1) {}

AdaMax::AdaMax(const Params &params, const LearningRate &lr, const AdaMaxOptions &o)
    : Optimizer(std::make_shared<AdaMaxRule>(o), params, lr, o.weight_decay, o.loss_scale) {}

Lamb::Lamb(const Params &params, const LearningRate &lr, const LambOptions &o)
    : Optimizer(std::make_shared<LambRule>(o), params, lr, o.weight_decay, 1) {}

Lion::Lion(const Params &params, const LearningRate &lr, const LionOptions &o)
    : Optimizer(std::make_shared<LionRule>(o), params, lr, o.weight_decay, 1) {}

LARS::LARS(const Optimizer &optimizer, const LARSOptions &o)
    : Optimizer(optimizer, [&](std::shared_ptr<Rule> rule) {
          return std::make_shared<LarsRule>(std::move(rule), o);
      }) {}

}  // namespace halyard::nn
