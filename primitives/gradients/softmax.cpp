// The composed gradients of softmax_dx, for second derivatives of softmax.
#include "primitives/composites/composite.h"
#include "primitives/operators.h"
#include "primitives/ops/reduce.h"

namespace halyard {
namespace {

// softmax_dx = y (dy - sum y dy), with sums along axis. in = {y, dy, ddx}.
Tensor softmax_dx_in_y(Tensors in, const RegisteredOp &op, const Attrs &attrs) {
    const Tensor &y = in[0];
    const Tensor &dy = in[1];
    const Tensor &g = in[2];
    const int k = attrs.find("axis");
    const int64_t axis = k < 0 ? -1 : attrs.integer(size_t(k));
    const Ints axes{normal_axis(op.record.name.c_str(), axis, y.rank())};
    auto total = [&](const Tensor &t) { return F::reduce_sum(t, axes, true); };
    return g * (dy - total(y * dy)) - total(g * y) * dy;
}

}  // namespace

HALYARD_COMPOSITES {
    composites.gradient({"softmax_dx", "y", {"y", "dy", "ddx"}, softmax_dx_in_y});
    composites.gradient({"softmax_dx", "dy", {"y", "ddx"}, same_op});
}

}  // namespace halyard
