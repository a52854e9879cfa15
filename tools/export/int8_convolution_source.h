// A convolution in integers as a function in C99.
#pragma once
#include <string>
#include <vector>

#include "tools/export/int8_network.h"

namespace halyard::exporting {

struct StepText {
    std::string parameters, body;
};

// Returns the function: of x, with `takes_floats` in f32, followed by memory for its rows as
// integers; z, if there is one; weight, bias and multipliers; y.
StepText convolution_text(const Int8Step &step, const Int8Network &network, bool takes_floats);

// Returns a convolution's biases, without padding less the products of x's zero.
std::vector<int32_t> bias_of(const Int8Step &step, const Int8Tensor &x);

}  // namespace halyard::exporting
