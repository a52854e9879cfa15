// Helpers of the update rules in rules.cpp and rules_adaptive.cpp.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "nn/optimizer_base.h"
#include "primitives/operators.h"
#include "primitives/ops/binary.h"
#include "registry/base/error.h"

namespace halyard::nn {

// Throws AttrError unless 0 <= v < 1.
inline void check_fraction(const char *optimizer, const char *name, double v) {
    if (!(v >= 0 && v < 1)) {
        throw AttrError(optimizer, std::string(name) + " is " + std::to_string(v) +
                                       ", expected 0 <= " + name + " < 1");
    }
}
// Throws AttrError unless v >= 0.
inline void check_not_negative(const char *optimizer, const char *name, double v) {
    if (!(v >= 0)) {
        throw AttrError(optimizer,
                        std::string(name) + " is " + std::to_string(v) + ", expected at least 0");
    }
}
// Throws AttrError unless v > 0.
inline void check_positive(const char *optimizer, const char *name, double v) {
    if (!(v > 0)) {
        throw AttrError(optimizer,
                        std::string(name) + " is " + std::to_string(v) + ", expected more than 0");
    }
}

// A rule whose only number is the learning rate.
struct RateRule : Optimizer::Rule {
    std::optional<std::vector<double>> numbers(const NextUpdate &next) const override {
        return std::vector{next.lr};
    }
};

// Sets x to weight * x + (1 - weight) * y.
inline void update_moving_mean(const Tensor &x, double weight, const Tensor &y) {
    x.assign(x * weight + y * (1 - weight));
}

}  // namespace halyard::nn
