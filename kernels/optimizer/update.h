// Parameter updates, in place: output p_out is written over input p, and so on. The state's loops
// come first and read the old p; the loop that overwrites p takes the state's new values from where
// they were stored, so no input is needed after it is gone.
//
// Every rule sees the gradient g = scale * g + weight_decay * p: `scale` takes a loss scale out
// again, the decay is L2.
#pragma once
#include "kernels/elementwise/elementwise.h"

namespace halyard {

struct Update : Elementwise {
    Update(const std::string &n, const std::string &inputs, const std::string &outputs)
        : Elementwise(n, inputs + " -> " + outputs) {
        any_strides = false;
        // 16-bit parameters would lose their updates to rounding: mixed precision keeps f32 ones
        dtypes = {"f32", "f64"};
        contract = {Contract::normwise, 8};
    }
};

}  // namespace halyard
