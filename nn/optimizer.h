// Optimisers: Momentum, SGD, the family of Adam, and those that scale a layer's step. Names,
// defaults, states' names and formulas are MindSpore's; where it differs from a paper the formula
// says so. nn/optimizer_adaptive.h has the others.
#pragma once
#include "nn/optimizer_base.h"

namespace halyard::nn {

struct MomentumOptions {
    double weight_decay = 0, loss_scale = 1;
    bool use_nesterov = false;
};

// v = momentum v + g;  p -= lr v, or with nesterov p -= lr (g + momentum v). State: moments.
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

// Without momentum p -= lr g; else v = momentum v + (1 - dampening) g (first step: v = g), p -= lr
// v, or with nesterov p -= lr (g + momentum v). State: accum.
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

// m = beta1 m + (1 - beta1) g;  v = beta2 v + (1 - beta2) g^2;  p -= lr sqrt(1 - beta2^t) / (1 -
// beta1^t) m / (sqrt(v) + eps). With nesterov beta1 m + (1 - beta1) g stands for m in the last;
// with amsgrad the largest v so far for v. State: moment1, moment2, vhat.
class Adam : public Optimizer {
public:
    explicit Adam(const Params &params, const LearningRate &learning_rate = 1e-3,
                  const AdamOptions &options = {});
};

struct AdamWeightDecayOptions {
    double beta1 = 0.9, beta2 = 0.999, eps = 1e-6, weight_decay = 0;
};

// m and v as Adam's, without the correction of their bias;  p -= lr (m / (sqrt(v) + eps) +
// weight_decay p). State: adam_m, adam_v.
class AdamWeightDecay : public Optimizer {
public:
    explicit AdamWeightDecay(const Params &params, const LearningRate &learning_rate = 1e-3,
                             const AdamWeightDecayOptions &options = {});
};

struct AdamWOptions {
    double beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 1e-2;
    bool amsgrad = false;
};

// p = (1 - lr weight_decay) p, then with m and v as Adam's  p -= lr m / (1 - beta1^t) / (sqrt(v /
// (1 - beta2^t)) + eps); with amsgrad the largest v so far stands for v (Loshchilov and Hutter
// 2019). AdamWeightDecay's bias is not corrected; here it is. State: exp_avg, exp_avg_sq,
// max_exp_avg_sq.
class AdamW : public Optimizer {
public:
    explicit AdamW(const Params &params, const LearningRate &learning_rate = 1e-3,
                   const AdamWOptions &options = {});
};

struct NAdamOptions {
    double beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0, momentum_decay = 4e-3;
};

// With m and v as Adam's, mu_t = beta1 (1 - 0.96^(t momentum_decay) / 2) and M_t = mu_1 .. mu_t:
// p -= lr (mu_(t+1) m / (1 - M_(t+1)) + (1 - mu_t) g / (1 - M_t)) / (sqrt(v / (1 - beta2^t)) + eps)
// (Dozat 2016). State: exp_avg, exp_avg_sq, mu_product f64[].
class NAdam : public Optimizer {
public:
    explicit NAdam(const Params &params, const LearningRate &learning_rate = 2e-3,
                   const NAdamOptions &options = {});
};

struct RAdamOptions {
    double beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0;
};

// With m and v as Adam's, R = 2 / (1 - beta2) - 1 and r = R - 2 t beta2^t / (1 - beta2^t): where r
// > 5 p -= lr c m / (1 - beta1^t) sqrt(1 - beta2^t) / (sqrt(v) + eps), c = sqrt((r - 4) (r - 2) R /
// ((R - 4) (R - 2) r)), before that p -= lr m / (1 - beta1^t)  (Liu et al. 2020). State: exp_avg,
// exp_avg_sq.
class RAdam : public Optimizer {
public:
    explicit RAdam(const Params &params, const LearningRate &learning_rate = 1e-3,
                   const RAdamOptions &options = {});
};

struct AdaMaxOptions {
    double beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0, loss_scale = 1;
};

// m = beta1 m + (1 - beta1) g;  v = max(beta2 v, |g|);  p -= lr / (1 - beta1^t) m / (v + eps).
// State: moment1, moment2.
class AdaMax : public Optimizer {
public:
    explicit AdaMax(const Params &params, const LearningRate &learning_rate = 1e-3,
                    const AdaMaxOptions &options = {});
};

struct LambOptions {
    double beta1 = 0.9, beta2 = 0.999, eps = 1e-6, weight_decay = 0;
};

// r = m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + eps) + weight_decay p with Adam's m and v;  p
// -= lr |p| / |r| r, where neither norm is 0. State: lamb_m, lamb_v.
class Lamb : public Optimizer {
public:
    Lamb(const Params &params, const LearningRate &learning_rate, const LambOptions &options = {});
};

struct LionOptions {
    double beta1 = 0.9, beta2 = 0.99, weight_decay = 0;
};

// p -= lr (sign(beta1 m + (1 - beta1) g) + weight_decay p);  m = beta2 m + (1 - beta2) g (Chen et
// al. 2023). State: moment.
class Lion : public Optimizer {
public:
    explicit Lion(const Params &params, const LearningRate &learning_rate = 1e-4,
                  const LionOptions &options = {});
};

struct LARSOptions {
    double epsilon = 1e-5, coefficient = 0.001;
    bool use_clip = false;
    // which parameters; by default those without "LayerNorm" or "bias" in their names
    std::function<bool(const Parameter &)> lars_filter = {};
};

// Another optimiser, which gets in place of g  t (g + weight_decay p), t = coefficient |p| / (|g| +
// weight_decay |p| + epsilon), with use_clip min(t / lr, 1); its own weight decay is used there and
// nowhere else. Parameters that the filter leaves out keep g.
class LARS : public Optimizer {
public:
    explicit LARS(const Optimizer &optimizer, const LARSOptions &options = {});
};

// Another optimiser over larger batches than memory holds: the gradients of every `accumulate_step`
// calls are added up, and the last of them updates by their mean. global_step counts updates.
// State: accumulate, and accumulate_counter i32[1]. Throws AttrError for an accumulate_step
// below 1.
class Accumulator : public Optimizer {
public:
    Accumulator(const Optimizer &optimizer, int64_t accumulate_step)
        : Optimizer(optimizer, accumulate_step) {}
};

}  // namespace halyard::nn
