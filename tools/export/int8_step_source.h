// One step of a network in integers as a function in C99.
#pragma once
#include "tools/export/int8_convolution_source.h"

namespace halyard::exporting {

// Returns the step's function: of x, with `takes_floats` in f32, followed by memory for its rows as
// integers; z, if it has one; a convolution's weight, bias and multipliers; y.
StepText step_text(const Int8Step &step, const Int8Network &network, bool takes_floats);

}  // namespace halyard::exporting
