// Optimisers: Momentum, SGD, the family of Adam, and those that scale the step of a layer. Names,
// defaults, names of states and formulas are MindSpore's; where MindSpore differs from the paper
// the formula shows it. nn/optimizer_adaptive.h has the other optimisers.
//
// In the formulas p is a parameter, g its gradient, lr the learning rate, t the step, which counts
// from 1.
#pragma once
#include "nn/optimizer_base.h"

namespace halyard::nn {

struct MomentumOptions {
    double weight_decay = 0, loss_scale = 1;
    bool use_nesterov = false;
};

// v = momentum v + g
// p -= lr v              with use_nesterov: p -= lr (g + momentum v)
// State: moments.
class Momentum : public Optimizer {
public:
    Momentum(const Params &params, const LearningRate &learning_rate, double momentum,
             const MomentumOptions &options = {});
};

struct SGDOptions {
    double momentum = 0, dampening = 0, weight_decay = 0;
    bool nesterov = false;
    double loss_scale = 1;
};

// v = momentum v + (1 - dampening) g     in the first step: v = g
// p -= lr v              with nesterov: p -= lr (g + momentum v); without momentum: p -= lr g
// State: accum.
class SGD : public Optimizer {
public:
    explicit SGD(const Params &params, const LearningRate &learning_rate = 0.1,
                 const SGDOptions &options = {});
};

struct AdamOptions {
    double beta1 = 0.9, beta2 = 0.999, eps = 1e-8;
    bool use_nesterov = false, use_amsgrad = false;
    double weight_decay = 0, loss_scale = 1;
};

// m = beta1 m + (1 - beta1) g
// v = beta2 v + (1 - beta2) g^2
// p -= lr sqrt(1 - beta2^t) / (1 - beta1^t) m / (sqrt(v) + eps)
// With use_nesterov the last line has beta1 m + (1 - beta1) g in place of m; with use_amsgrad the
// largest v so far in place of v. State: moment1, moment2, vhat.
class Adam : public Optimizer {
public:
    explicit Adam(const Params &params, const LearningRate &learning_rate = 1e-3,
                  const AdamOptions &options = {});
};

struct AdamWeightDecayOptions {
    double beta1 = 0.9, beta2 = 0.999, eps = 1e-6, weight_decay = 0;
};

// Adam's m and v without bias correction:
// p -= lr (m / (sqrt(v) + eps) + weight_decay p)
// State: adam_m, adam_v.
class AdamWeightDecay : public Optimizer {
public:
    explicit AdamWeightDecay(const Params &params, const LearningRate &learning_rate = 1e-3,
                             const AdamWeightDecayOptions &options = {});
};

struct AdamWOptions {
    double beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 1e-2;
    bool amsgrad = false;
};

// Adam's m and v with bias correction, which AdamWeightDecay lacks (Loshchilov and Hutter, 2019):
// p = (1 - lr weight_decay) p
// p -= lr m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + eps)
// With amsgrad the largest v so far replaces v. State: exp_avg, exp_avg_sq, max_exp_avg_sq.
class AdamW : public Optimizer {
public:
    explicit AdamW(const Params &params, const LearningRate &learning_rate = 1e-3,
                   const AdamWOptions &options = {});
};

struct NAdamOptions {
    double beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0, momentum_decay = 4e-3;
};

// Adam's m and v (Dozat, 2016), with mu_t = beta1 (1 - 0.96^(t momentum_decay) / 2) and M_t = mu_1
// *
// ... * mu_t:
// p -= lr (mu_(t+1) m / (1 - M_(t+1)) + (1 - mu_t) g / (1 - M_t)) / (sqrt(v / (1 - beta2^t)) + eps)
// State: exp_avg, exp_avg_sq, mu_product f64[].
class NAdam : public Optimizer {
public:
    explicit NAdam(const Params &params, const LearningRate &learning_rate = 2e-3,
                   const NAdamOptions &options = {});
};

struct RAdamOptions {
    double beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0;
};

// Adam's m and v (Liu et al., 2020), with R = 2 / (1 - beta2) - 1 and
// r = R - 2 t beta2^t / (1 - beta2^t):
// r > 5:  p -= lr c m / (1 - beta1^t) sqrt(1 - beta2^t) / (sqrt(v) + eps)
//         with c = sqrt((r - 4) (r - 2) R / ((R - 4) (R - 2) r))
// else:   p -= lr m / (1 - beta1^t)
// State: exp_avg, exp_avg_sq.
class RAdam : public Optimizer {
public:
    explicit RAdam(const Params &params, const LearningRate &learning_rate = 1e-3,
                   const RAdamOptions &options = {});
};

struct AdaMaxOptions {
    double beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0, loss_scale = 1;
};

// m = beta1 m + (1 - beta1) g
// v = max(beta2 v, |g|)
// p -= lr / (1 - beta1^t) m / (v + eps)
// State: moment1, moment2.
class AdaMax : public Optimizer {
public:
    explicit AdaMax(const Params &params, const LearningRate &learning_rate = 1e-3,
                    const AdaMaxOptions &options = {});
};

struct LambOptions {
    double beta1 = 0.9, beta2 = 0.999, eps = 1e-6, weight_decay = 0;
};

// Adam's m and v, with |.| the Euclidean norm:
// r = m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + eps) + weight_decay p
// p -= lr |p| / |r| r    if neither norm is 0, else p -= lr r
// State: lamb_m, lamb_v.
class Lamb : public Optimizer {
public:
    Lamb(const Params &params, const LearningRate &learning_rate, const LambOptions &options = {});
};

struct LionOptions {
    double beta1 = 0.9, beta2 = 0.99, weight_decay = 0;
};

// p -= lr (sign(beta1 m + (1 - beta1) g) + weight_decay p)     (Chen et al., 2023)
// m = beta2 m + (1 - beta2) g
// State: moment.
class Lion : public Optimizer {
public:
    explicit Lion(const Params &params, const LearningRate &learning_rate = 1e-4,
                  const LionOptions &options = {});
};

struct LARSOptions {
    double epsilon = 1e-5, coefficient = 0.001;
    bool use_clip = false;
    // Chooses the parameters. By default those without "LayerNorm" or "bias" in their names.
    std::function<bool(const Parameter &)> lars_filter = {};
};

// Wraps another optimiser, which gets t (g + weight_decay p) in place of g:
// t = coefficient |p| / (|g| + weight_decay |p| + epsilon)     with use_clip: min(t / lr, 1)
// The wrapped optimiser's weight decay is used in these formulas only. Parameters that the filter
// does not choose keep g.
class LARS : public Optimizer {
public:
    explicit LARS(const Optimizer &optimizer, const LARSOptions &options = {});
};

// Wraps another optimiser for batches that don't fit into memory. It adds up the gradients of
// `accumulate_step` calls; the last of these calls updates by their mean. global_step counts
// updates. State: accumulate, accumulate_counter i32[1]. Throws AttrError if accumulate_step is
// below 1.
class Accumulator : public Optimizer {
public:
    Accumulator(const Optimizer &optimizer, int64_t accumulate_step)
        : Optimizer(optimizer, accumulate_step) {}
};

}  // namespace halyard::nn
