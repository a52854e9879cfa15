// Composed gradients of elementwise kernels.
#include "primitives/composites/composite.h"
#include "primitives/operators.h"
#include "primitives/ops/unary.h"

namespace halyard {
namespace {

// Each gradient is dy times the side's share of the sum e^a + e^b. in = {a, b, dy}.
Tensor logaddexp_in_a(Tensors in, const RegisteredOp &, const Attrs &) {
    return in[2] * F::sigmoid(in[0] - in[1]);
}
Tensor logaddexp_in_b(Tensors in, const RegisteredOp &, const Attrs &) {
    return in[2] * F::sigmoid(in[1] - in[0]);
}

// tanh_dx = dy (1 - y^2). in = {y, dy, ddx}.
Tensor tanh_dx_in_y(Tensors in, const RegisteredOp &, const Attrs &) {
    return in[0] * (in[1] * in[2]) * -2;
}

// sigmoid_dx = dy y (1 - y). in = {y, dy, ddx}.
Tensor sigmoid_dx_in_y(Tensors in, const RegisteredOp &, const Attrs &) {
    return in[1] * in[2] * (1 - in[0] * 2);
}

}  // namespace

HALYARD_COMPOSITES {
    composites.gradient({"add", "a", {"dy"}, pass_gradient});
    composites.gradient({"add", "b", {"dy"}, pass_gradient});
    composites.gradient({"addcdiv", "x", {"dy"}, pass_gradient});
    composites.gradient({"addcmul", "x", {"dy"}, pass_gradient});
    composites.gradient({"cast", "x", {"dy"}, pass_gradient});
    composites.gradient({"copy", "x", {"dy"}, pass_gradient});
    composites.gradient({"floor_mod", "a", {"dy"}, pass_gradient});
    composites.gradient({"mod", "a", {"dy"}, pass_gradient});
    composites.gradient({"sub", "a", {"dy"}, pass_gradient});
    composites.gradient({"logaddexp", "a", {"a", "b", "dy"}, logaddexp_in_a});
    composites.gradient({"logaddexp", "b", {"a", "b", "dy"}, logaddexp_in_b});
    // These are constant between steps.
    for (const char *op : {"ceil", "floor", "round", "sign", "trunc"})
        composites.gradient({op, "x", {}, no_gradient});
    composites.gradient({"floor_div", "a", {}, no_gradient});
    composites.gradient({"floor_div", "b", {}, no_gradient});
    // Second derivatives.
    composites.gradient({"mul_da", "a", {}, no_gradient});
    composites.gradient({"mul_da", "b", {"dy", "dda"}, product_gradient});
    composites.gradient({"mul_db", "a", {"dy", "ddb"}, product_gradient});
    composites.gradient({"mul_db", "b", {}, no_gradient});
    composites.gradient({"exp_dx", "y", {"dy", "ddx"}, product_gradient});
    composites.gradient({"tanh_dx", "y", {"y", "dy", "ddx"}, tanh_dx_in_y});
    composites.gradient({"sigmoid_dx", "y", {"y", "dy", "ddx"}, sigmoid_dx_in_y});
    composites.gradient({"relu_dx", "x", {}, no_gradient});
    composites.gradient({"relu_dx", "y", {}, no_gradient});
}

}  // namespace halyard
