// Weight decay for weights only, as in "Network migration debugging and tuning".
#pragma once
#include "nn/optimizer.h"

namespace halyard::examples {

// Returns two groups for an optimiser: weights with weight decay, and gamma, beta and bias without.
inline std::vector<nn::ParamGroup> group_params(const ParameterTuple &trainable_params,
                                                double weight_decay) {
    ParameterTuple decayed_params, no_decayed_params;
    for (const Parameter &param : trainable_params) {
        const auto has = [&](const char *part) {
            return param.name().find(part) != std::string::npos;
        };
        (has("beta") || has("gamma") || has("bias") ? no_decayed_params : decayed_params)
            .push_back(param);
    }
    return {{.params = decayed_params, .weight_decay = weight_decay},
            {.params = no_decayed_params},
            {.order_params = trainable_params}};
}

}  // namespace halyard::examples
