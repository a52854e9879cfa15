// One step of a network in integers as a function in C99.
#pragma once
#include <string>
#include <vector>

#include "tools/export/int8_network.h"

namespace halyard::exporting {

struct StepText {
    std::string parameters, body;
};

// Returns the step's function: of x, with `takes_floats` in f32, followed by memory for its rows as
// integers; z, if it has one; a convolution's weight, bias and multipliers; y.
StepText step_text(const Int8Step &step, const Int8Network &network, bool takes_floats);

// Returns a convolution's biases, without padding less the products of x's zero.
std::vector<int32_t> bias_of(const Int8Step &step, const Int8Tensor &x);

// Returns a float in C as an integer of the tensor.
std::string quantize_text(const Int8Tensor &to, const std::string &x);

}  // namespace halyard::exporting
