// LAMB's update by the numbers of a step. The op lamb_ computes them from the rate and the step,
// optimisers state them apart, so that a captured graph computes them anew in each run.
#pragma once
#include "registry/tensor/tensor.h"

namespace halyard {

struct LambNumbers {
    double beta1, beta2, eps, weight_decay, scale;
    double minus_lr;                  // -lr
    double correction1, correction2;  // 1 - beta^step
};

// Updates p, m and v in place, as lamb_ does. Nothing is recorded on the tape. Throws as lamb_
// does.
void update_lamb(const Tensor &p, const Tensor &m, const Tensor &v, const Tensor &g,
                 const LambNumbers &n);

}  // namespace halyard
