// The base of parameter updates, which are in place: output p_out overwrites input p, and so on.
// The loops of the state run first and read the old p. The loop that overwrites p reads the state's
// new values where they were stored, so no input is read after it was overwritten.
//
// Every rule uses the gradient scale * g + weight_decay * p. `scale` removes a loss scale; the
// decay is that of an L2 penalty.
#pragma once
#include "kernels/elementwise/elementwise.h"

namespace halyard {

struct Update : Elementwise {
    Update(const std::string &n, const std::string &inputs, const std::string &outputs)
        : Elementwise(n, inputs + " -> " + outputs) {
        any_strides = false;
        // Rounding would lose the updates of 16-bit parameters; mixed precision keeps f32 ones.
        dtypes = {"f32", "f64"};
        contract = {Contract::normwise, 8};
    }
};

}  // namespace halyard
