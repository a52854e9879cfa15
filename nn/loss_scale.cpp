#include "nn/loss_scale.h"

#include <algorithm>

#include "nn/sizes.h"

namespace halyard::nn {

LossScaleManager::LossScaleManager(double scale, bool drop_overflow_update, double scale_factor,
                                   int64_t scale_window)
    : drop_overflow_update_(drop_overflow_update), scale_factor_(scale_factor),
      scale_window_(scale_window) {
    if (!(scale >= 1)) {
        throw AttrError("LossScaleManager",
                        "loss_scale is " + std::to_string(scale) + ", expected at least 1");
    }
    loss_scale = parameter("loss_scale", Tensor::scalar(scale), false);
    good_steps = parameter("good_steps", Tensor::scalar(0, DType::i32), false);
}

void LossScaleManager::update_loss_scale(bool overflow) const {
    const int64_t steps = overflow ? 0 : good_steps.data().item<int32_t>() + 1;
    double scale = get_loss_scale();
    if (overflow)
        scale = std::max(1.0, scale / scale_factor_);
    else if (scale_window_ > 0 && steps % scale_window_ == 0)
        scale *= scale_factor_;
    loss_scale.data().fill(scale);
    good_steps.data().fill(double(steps));
}

FixedLossScaleManager::FixedLossScaleManager(double loss_scale, bool drop_overflow_update)
    : LossScaleManager(loss_scale, drop_overflow_update, 1, 0) {}

DynamicLossScaleManager::DynamicLossScaleManager(double init_loss_scale, double scale_factor,
                                                 int64_t scale_window)
    : LossScaleManager(init_loss_scale, true, scale_factor, scale_window) {
    if (!(scale_factor > 1)) {
        throw AttrError("DynamicLossScaleManager", "scale_factor is " +
                                                       std::to_string(scale_factor) +
                                                       ", expected more than 1");
    }
    check_min("DynamicLossScaleManager", "scale_window", scale_window, 1);
}

}  // namespace halyard::nn
