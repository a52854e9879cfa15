// The rules of Momentum, SGD and Adam: one fused kernel per parameter and step, in place.
#include <cmath>

#include "nn/optimizer.h"
#include "primitives/ops.h"

namespace halyard::nn {
namespace {

void check_fraction(const char *name, double v) {
    if (!(v >= 0 && v < 1)) throw AttrError("optimizer", std::string(name) + " is " + std::to_string(v) + ", expected 0 <= " + name + " < 1");
}

std::vector<Tensor> zeros(const ParameterTuple &params) {
    std::vector<Tensor> out;
    for (const Parameter &p : params) out.push_back(Tensor::zeros(p.shape(), p.data().dtype()));
    return out;
}

struct MomentumRule : Optimizer::Rule {
    MomentumRule(double mu, bool nesterov_update) : momentum(mu), nesterov(nesterov_update) {
        if (!(mu >= 0)) throw AttrError("Momentum", "momentum is " + std::to_string(mu) + ", expected at least 0");
    }
    void prepare(const ParameterTuple &params) override { v = zeros(params); }
    void update(const Update &u) override { F::momentum_(u.p, v[u.index], u.g, u.lr, momentum, u.weight_decay, nesterov, u.scale); }
    double momentum;
    bool nesterov;
    std::vector<Tensor> v;
};

struct SgdRule : Optimizer::Rule {
    explicit SgdRule(const SGDOptions &options) : o(options) {
        if (!(o.momentum >= 0)) throw AttrError("SGD", "momentum is " + std::to_string(o.momentum) + ", expected at least 0");
        check_fraction("dampening", o.dampening);
        if (o.nesterov && (o.momentum == 0 || o.dampening != 0)) throw AttrError("SGD", "nesterov needs momentum above 0 and dampening 0");
    }
    void prepare(const ParameterTuple &params) override { v = zeros(params); }
    // The buffer starts as the raw gradient: a first step without dampening on a buffer of zeros.
    void update(const Update &u) override {
        F::sgd_(u.p, v[u.index], u.g, u.lr, o.momentum, u.step == 1 ? 0 : o.dampening, u.weight_decay, o.nesterov, u.scale);
    }
    SGDOptions o;
    std::vector<Tensor> v;
};

struct AdamRule : Optimizer::Rule {
    explicit AdamRule(const AdamOptions &options) : o(options) {
        check_fraction("beta1", o.beta1);
        check_fraction("beta2", o.beta2);
        if (!(o.eps > 0)) throw AttrError("Adam", "eps is " + std::to_string(o.eps) + ", expected more than 0");
    }
    void prepare(const ParameterTuple &params) override { m = zeros(params), v = zeros(params); }
    void update(const Update &u) override {
        const double t = (double)u.step, lr = u.lr * std::sqrt(1 - std::pow(o.beta2, t)) / (1 - std::pow(o.beta1, t));
        F::adam_(u.p, m[u.index], v[u.index], u.g, lr, o.beta1, o.beta2, o.eps, u.weight_decay, u.scale);
    }
    AdamOptions o;
    std::vector<Tensor> m, v;
};

}  // namespace

Momentum::Momentum(const Params &params, LearningRate lr, double momentum, const MomentumOptions &o)
    : Optimizer(std::make_shared<MomentumRule>(momentum, o.use_nesterov), params, std::move(lr), o.weight_decay, o.loss_scale) {}

SGD::SGD(const Params &params, LearningRate lr, const SGDOptions &o)
    : Optimizer(std::make_shared<SgdRule>(o), params, std::move(lr), o.weight_decay, o.loss_scale) {}

Adam::Adam(const Params &params, LearningRate lr, const AdamOptions &o)
    : Optimizer(std::make_shared<AdamRule>(o), params, std::move(lr), o.weight_decay, o.loss_scale) {}

}  // namespace halyard::nn
