// The base of parameter updates, which are in place: output p_out overwrites input p, and so on.
// One loop computes all of them: it stores a vector of each when it has computed the last
// (dsl/joint_outputs.h), so no input is read after it was overwritten.
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
        // p - step may cancel, and so may the gradient's terms. References give their absolute
        // values, by each_abs_sum().
        contract = {Contract::products, 8};
    }
    // Returns the sum of the absolute values of the gradient's terms.
    static double abs_gradient(const Problem &q, double p0, double g0) {
        return std::fabs(g0 * q.real("scale")) + std::fabs(q.real("weight_decay") * p0);
    }
    // Returns the average beta old + (1 - beta) added of absolute values.
    static double abs_average(double beta, double old, double added) {
        return beta * std::fabs(old) + (1 - beta) * added;
    }
};

}  // namespace halyard
