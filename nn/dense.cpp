#include "nn/dense.h"

#include <cmath>

#include "nn/sizes.h"
#include "primitives/ops/composites.h"
#include "primitives/ops/matmul.h"

namespace halyard::nn {

Dense::Dense(int64_t in_channels, int64_t out_channels, const Initializer &weight_init,
             const Initializer &bias_init, bool has_bias, AnyCell activation_cell)
    : in_channels_(in_channels), out_channels_(out_channels) {
    check_min("Dense", "in_channels", in_channels, 1);
    check_min("Dense", "out_channels", out_channels, 1);
    const Uniform by_fan(1 / std::sqrt(double(in_channels)));
    weight = parameter("weight",
                       initializer(weight_init.otherwise(by_fan), {out_channels, in_channels}));
    if (has_bias)
        bias = parameter("bias", initializer(bias_init.otherwise(by_fan), {out_channels}));
    if (activation_cell) activation = child("activation", activation_cell);
}

Tensor Dense::construct(const Tensor &x) const {
    if (x.rank() < 2) {
        throw ShapeError("Dense",
                         "x's rank is " + std::to_string(x.rank()) + ", expected at least 2");
    }
    if (x.size(-1) != in_channels_) {
        throw ShapeError("Dense", "x's last extent is " + std::to_string(x.size(-1)) +
                                      ", expected in_channels " + std::to_string(in_channels_));
    }
    Tensor y = F::matmul(x.rank() == 2 ? x : F::reshape(x, {-1, in_channels_}), computed(weight),
                         false, true);
    if (bias.defined()) y = F::bias_add(y, computed(bias));
    if (x.rank() != 2) {
        Ints shape = x.shape().vec();
        shape.back() = out_channels_;
        y = F::reshape(y, shape);
    }
    return activation ? activation(y) : y;
}

std::string Dense::extend_repr() const {
    return "input_channels=" + std::to_string(in_channels_) +
           ", output_channels=" + std::to_string(out_channels_) +
           ", has_bias=" + (bias.defined() ? "True" : "False");
}

}  // namespace halyard::nn
