// Optimisers with a step size per element. Names, defaults, names of states and formulas are
// MindSpore's. The symbols in the formulas are those of nn/optimizer.h.
#pragma once
#include <utility>

#include "nn/optimizer_base.h"

namespace halyard::nn {

struct AdagradOptions {
    double accum = 0.1, weight_decay = 0, loss_scale = 1;
};

// s += g^2               starting at `accum`
// p -= lr g / sqrt(s)
// State: accum.
class Adagrad : public Optimizer {
public:
    explicit Adagrad(const Params &params, const LearningRate &learning_rate = 1e-3,
                     const AdagradOptions &options = {});
};

struct ProximalAdagradOptions {
    double accum = 0.1, l1 = 0, l2 = 0, weight_decay = 0, loss_scale = 1;
};

// Adagrad's step, then with r = lr / sqrt(s):
// p = sign(p) max(|p| - r l1, 0) / (1 + r l2)
// State: accum.
class ProximalAdagrad : public Optimizer {
public:
    explicit ProximalAdagrad(const Params &params, const LearningRate &learning_rate = 1e-3,
                             const ProximalAdagradOptions &options = {});
};

struct AdadeltaOptions {
    double rho = 0.9, epsilon = 1e-6, weight_decay = 0, loss_scale = 1;
};

// s = rho s + (1 - rho) g^2
// d = sqrt(u + epsilon) / sqrt(s + epsilon) g
// u = rho u + (1 - rho) d^2
// p -= lr d
// State: accum, accum_update.
class Adadelta : public Optimizer {
public:
    explicit Adadelta(const Params &params, const LearningRate &learning_rate = 1.0,
                      const AdadeltaOptions &options = {});
};

struct RMSPropOptions {
    double decay = 0.9, momentum = 0, epsilon = 1e-10;
    bool centered = false;
    double weight_decay = 0, loss_scale = 1;
};

// s = decay s + (1 - decay) g^2                  starting at 1
// a = decay a + (1 - decay) g                    with `centered` only
// m = momentum m + lr g / sqrt(s + epsilon)      with `centered`: sqrt(s - a^2 + epsilon)
// p -= m
// State: mean_square, moment, and with `centered` mean_grad.
class RMSProp : public Optimizer {
public:
    explicit RMSProp(const Params &params, const LearningRate &learning_rate = 0.1,
                     const RMSPropOptions &options = {});
};

struct FTRLOptions {
    double initial_accum = 0.1, lr_power = -0.5, l1 = 0, l2 = 0, weight_decay = 0, loss_scale = 1;
};

// "Follow the regularised leader":
// s' = s + g^2
// u += g - (s'^-lr_power - s^-lr_power) / lr p
// p = (sign(u) l1 - u) / (s'^-lr_power / lr + 2 l2)     where |u| > l1, else 0
// State: moments, linear.
class FTRL : public Optimizer {
public:
    explicit FTRL(const Params &params, const LearningRate &learning_rate = 1e-3,
                  const FTRLOptions &options = {});
};

struct ASGDOptions {
    double lambd = 1e-4, alpha = 0.75, t0 = 1e6, weight_decay = 0;
};

// Averaged stochastic gradient descent:
// p = p (1 - lambd eta) - eta g          eta starts at lr
// ax += mu (p - ax)                      the average
// eta = lr / (1 + lambd lr t)^alpha
// mu = 1 / max(1, t - t0)
// State: eta, ax.
class ASGD : public Optimizer {
public:
    explicit ASGD(const Params &params, const LearningRate &learning_rate = 0.1,
                  const ASGDOptions &options = {});
};

struct RpropOptions {
    std::pair<double, double> etas = {0.5, 1.2}, step_sizes = {1e-6, 50};
    double weight_decay = 0;
};

// p -= sign(g) d. Each element's step d starts at lr. While g keeps its sign d is multiplied by
// etas.second; where the sign changes d is multiplied by etas.first and g counts as 0. d stays
// within step_sizes. State: prev, step_size.
class Rprop : public Optimizer {
public:
    explicit Rprop(const Params &params, const LearningRate &learning_rate = 0.1,
                   const RpropOptions &options = {});
};

}  // namespace halyard::nn
