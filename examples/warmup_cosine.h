// A learning rate that rises from 0 to `rate` in the first steps and falls to 0 along half a cosine
// in the rest.
#pragma once
#include "nn/learning_rate.h"

namespace halyard::examples {

inline nn::LearningRate warmup_cosine(double rate, int64_t warmup_steps, int64_t total_steps) {
    const nn::WarmUpLR rise(rate, warmup_steps);
    const nn::CosineDecayLR fall(0.0, rate, total_steps - warmup_steps);
    return [=](int64_t step) {
        return step < warmup_steps ? rise(step + 1) : fall(step - warmup_steps);
    };
}

}  // namespace halyard::examples
