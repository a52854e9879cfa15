// Composed gradients of reductions and of running reductions.
#include <vector>

#include "primitives/composites/composite.h"
#include "primitives/composites/sorting.h"
#include "primitives/operators.h"
#include "primitives/ops/binary.h"
#include "primitives/ops/scan.h"
#include "primitives/ops/select.h"
#include "primitives/ops/unary.h"

namespace halyard {
namespace {

// Returns dy with the reduced dimensions as dimensions of extent 1. The tape repeats it along them,
// as a view.
Tensor spread(Tensors in, const RegisteredOp &op, const Attrs &attrs) {
    const Ints &axes = ints(attrs, "axis");
    if (axes.empty() || is_set(attrs, "keep_dims")) return in[0];
    const int rank = in[0].rank() + int(axes.size());
    unsigned reduced = 0;
    for (int64_t a : axes)
        reduced |= 1u << normal_axis(op.record.name.c_str(), a, rank);
    Shape s;
    for (int d = 0, kept = 0; d < rank; d++)
        s.push_back(reduced >> d & 1 ? 1 : in[0].shape()[kept++]);
    return reshaped(in[0], s);
}

// The gradient of a sum or mean spreads dy over what was reduced; its adjoint reduces again.
Tensor reduce(Tensors in, const RegisteredOp &op, const Attrs &attrs) {
    const RegisteredOp &forward = registry().at(
        op.record.name.substr(0, op.record.name.size() - 3));
    return std::move(Primitive(forward, Attrs(forward.record, op.record, attrs)).run(in)[0]);
}

// Element i is a term of the sums at i and after it, so its gradient is the sum of theirs, from the
// other end.
Tensor cumsum_in_x(Tensors in, const RegisteredOp &, const Attrs &attrs) {
    return F::cumsum(in[0], integer(attrs, "axis"), is_set(attrs, "exclusive"),
                     !is_set(attrs, "reverse"));
}

// Returns dy times the product of all other factors. It is the product of those before times the
// product of those after, without a division, so zeros are no special case.
Tensor reduce_prod_in_x(Tensors in, const RegisteredOp &op, const Attrs &attrs) {
    const Tensor &x = in[0];
    unsigned reduced = 0;
    for (int64_t a : ints(attrs, "axis"))
        reduced |= 1u << normal_axis(op.record.name.c_str(), a, x.rank());
    if (!reduced) reduced = ~0u;
    std::vector<int> kept_first;
    std::vector<int> back(static_cast<size_t>(x.rank()));
    Shape rows;
    int64_t factors = 1;
    for (const bool of_row : {false, true}) {
        for (int d = 0; d < x.rank(); d++) {
            if ((reduced >> d & 1) != of_row) continue;
            back[size_t(d)] = int(kept_first.size());
            kept_first.push_back(d);
            if (of_row)
                factors *= x.size(d);
            else
                rows.push_back(x.size(d));
        }
    }
    rows.push_back(factors);
    const Tensor moved = transposed(x, kept_first);
    const Tensor row = reshaped(moved, rows);
    const auto product = [&](bool from_end) { return F::cumprod(row, -1, true, from_end); };
    const Tensor others = reshaped(product(false) * product(true), moved.shape());
    return transposed(others, back) * spread(in.subspan(1), op, attrs);
}

// A running extremum is the element at its index. in = {x, index, dy}.
Tensor running_in_x(Tensors in, const RegisteredOp &, const Attrs &attrs) {
    return added_along(in[0], integer(attrs, "axis"), in[1], in[2]);
}
// Norms: dx = dy sign x for l1, and dy x / y, or 0 if y is 0, for l2.
Tensor reduce_l1_in_x(Tensors in, const RegisteredOp &op, const Attrs &attrs) {
    return F::sign(in[0]) * spread(in.subspan(1), op, attrs);
}
Tensor reduce_l2_in_x(Tensors in, const RegisteredOp &op, const Attrs &attrs) {
    const Tensor length = F::select(in[1] == 0, 1, in[1]);
    return in[0] * spread({{in[2] / length}}, op, attrs);
}

}  // namespace

HALYARD_COMPOSITES {
    composites.gradient({"reduce_sum", "x", {"dy"}, spread});
    composites.gradient({"reduce_prod", "x", {"x", "dy"}, reduce_prod_in_x});
    composites.gradient({"reduce_l1", "x", {"x", "dy"}, reduce_l1_in_x});
    composites.gradient({"reduce_l2", "x", {"x", "y", "dy"}, reduce_l2_in_x});
    composites.gradient({"cumsum", "x", {"dy"}, cumsum_in_x});
    composites.gradient({"cummax", "x", {"x", "index", "dy"}, running_in_x});
    composites.gradient({"cummin", "x", {"x", "index", "dy"}, running_in_x});
    composites.gradient({"reduce_mean_dx", "dy", {"ddx"}, reduce});
}

}  // namespace halyard
