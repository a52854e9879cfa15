// Managers of the loss-scaling factor. Their state consists of Parameters, so checkpoints hold it.
#pragma once
#include "nn/cell.h"

namespace halyard::nn {

class LossScaleManager : public Cell {
public:
    double get_loss_scale() const { return loss_scale.data().item(); }
    // Returns true if steps whose gradients overflowed are skipped.
    bool get_drop_overflow_update() const { return drop_overflow_update_; }
    // Adapts the factor. It is called after each step.
    void update_loss_scale(bool overflow) const;

    Parameter loss_scale;  // a scalar of f32
    Parameter good_steps;  // a scalar of i32: steps since the last overflow

protected:
    LossScaleManager(double loss_scale, bool drop_overflow_update, double scale_factor,
                     int64_t scale_window);

private:
    bool drop_overflow_update_;
    double scale_factor_;
    int64_t scale_window_;
};

// Keeps the factor constant. Throws AttrError unless it is at least 1.
class FixedLossScaleManager : public LossScaleManager {
public:
    explicit FixedLossScaleManager(double loss_scale = 128, bool drop_overflow_update = true);
};

// Divides the factor by scale_factor at an overflow, but not below 1, and multiplies it by
// scale_factor after scale_window steps without overflow. Throws AttrError if init_loss_scale < 1,
// scale_factor <= 1 or scale_window < 1.
class DynamicLossScaleManager : public LossScaleManager {
public:
    explicit DynamicLossScaleManager(double init_loss_scale = 16777216, double scale_factor = 2,
                                     int64_t scale_window = 2000);
};

}  // namespace halyard::nn
