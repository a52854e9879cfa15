// Numbers of floats as integers: an activation's scale and zero, a convolution's weights, biases
// and multipliers.
#pragma once
#include <string>
#include <vector>

#include "tools/export/int8_calibration.h"
#include "tools/export/int8_network.h"

namespace halyard::exporting {

// Returns the tensor whose 256 numbers span the range.
Int8Tensor int8_tensor(const Shape &shape, const Range &range);

// What a result is multiplied by to be in units of y, before it is rounded.
struct Factors {
    std::vector<double> of_sum;  // by channel, or one
    double of_z = 0;
};

// Sets the weights and biases of `step`, each channel's with a scale of its own, and returns the
// factors of its sums. `weight` is f32[o,c/group,u,v], dense and finite, `bias` has o numbers.
// Throws Error if a sum could need more than 32 bits.
Factors quantize_weights(Int8Step &step, const Tensor &weight, const std::vector<double> &bias,
                         const Int8Tensor &x, const Int8Tensor &y);

// Returns the multipliers and the shift for the factors, and the integers of y that a clamp to
// [low,high] leaves. `op` is for errors. Throws Error if a factor is 2^30 or more.
Requantize requantize(const std::string &op, const Factors &factors, const Int8Tensor &y,
                      double low, double high);

}  // namespace halyard::exporting
