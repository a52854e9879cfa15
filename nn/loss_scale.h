// The factor of loss scaling, and how it follows overflows. Its state are Parameters, so that it is
// part of a checkpoint.
#pragma once
#include "nn/cell.h"

namespace halyard::nn {

class LossScaleManager : public Cell {
public:
    double get_loss_scale() const { return loss_scale.data().item(); }
    // is a step that overflowed skipped
    bool get_drop_overflow_update() const { return drop_overflow_update_; }
    void update_loss_scale(bool overflow) const;  // after each step

    Parameter loss_scale, good_steps;  // f32 and i32 scalars; good_steps: since the last overflow

protected:
    LossScaleManager(double loss_scale, bool drop_overflow_update, double scale_factor,
                     int64_t scale_window);

private:
    bool drop_overflow_update_;
    double scale_factor_;
    int64_t scale_window_;
};

// Always the same factor. Throws AttrError unless it is at least 1.
class FixedLossScaleManager : public LossScaleManager {
public:
    explicit FixedLossScaleManager(double loss_scale = 128, bool drop_overflow_update = true);
};

// Divided by scale_factor at an overflow, but not below 1; multiplied by it after scale_window
// steps without one. Throws AttrError: init_loss_scale < 1, scale_factor <= 1, scale_window < 1.
class DynamicLossScaleManager : public LossScaleManager {
public:
    explicit DynamicLossScaleManager(double init_loss_scale = 16777216, double scale_factor = 2,
                                     int64_t scale_window = 2000);
};

}  // namespace halyard::nn
