// Gradients without a kernel: of ops whose gradient moves nothing, and of gradient ops, for second derivatives. The ops
// run here are recorded by the tapes around the one that walks.
#include "primitives/adjoint.h"
#include "primitives/composite.h"

namespace halyard {
namespace {

using In = std::span<const Tensor>;

Tensor mul(const Tensor &a, const Tensor &b) { return run1("mul", {a, b}); }
Tensor add(const Tensor &a, const Tensor &b) { return run1("add", {a, b}); }
Tensor scaled(const Tensor &a, double by) { return mul(a, Tensor::scalar(by, a.dtype())); }

// The tape sums or repeats it to the input's shape and casts it to the input's dtype.
Tensor pass(In in, const RegisteredOp &, const Attrs &) { return in[0]; }
Tensor none(In, const RegisteredOp &, const Attrs &) { return {}; }
Tensor product(In in, const RegisteredOp &, const Attrs &) { return mul(in[0], in[1]); }

// dy with the reduced dimensions back, of extent 1; the tape repeats it along them, as a view.
Tensor spread(In in, const RegisteredOp &op, const Attrs &attrs) {
    const Ints &axes = attrs.ints((size_t)attrs.find("axis"));
    if (axes.empty() || attrs.integer((size_t)attrs.find("keep_dims"))) return in[0];
    const int rank = in[0].rank() + (int)axes.size();
    unsigned reduced = 0;
    for (int64_t a : axes) reduced |= 1u << normal_axis(op.record.name.c_str(), a, rank);
    Shape s;
    for (int d = 0, kept = 0; d < rank; d++) s.push_back(reduced >> d & 1 ? 1 : in[0].shape()[kept++]);
    return reshaped(in[0], s);
}

// tanh_dx = dy (1 - y^2)
Tensor tanh_dx_in_y(In in, const RegisteredOp &, const Attrs &) { return scaled(mul(in[0], mul(in[1], in[2])), -2); }
// sigmoid_dx = dy y (1 - y)
Tensor sigmoid_dx_in_y(In in, const RegisteredOp &, const Attrs &) { return mul(mul(in[1], in[2]), add(scaled(in[0], -2), Tensor::scalar(1, in[0].dtype()))); }

// Each side's share of the sum e^a + e^b.
Tensor logaddexp_in_a(In in, const RegisteredOp &, const Attrs &) { return mul(in[2], run1("sigmoid", {run1("sub", {in[0], in[1]})})); }
Tensor logaddexp_in_b(In in, const RegisteredOp &, const Attrs &) { return mul(in[2], run1("sigmoid", {run1("sub", {in[1], in[0]})})); }

// softmax_dx = y (dy - sum y dy), sums along axis
Tensor softmax_dx_in_y(In in, const RegisteredOp &op, const Attrs &attrs) {
    const Tensor &y = in[0], &dy = in[1], &g = in[2];
    const int k = attrs.find("axis");
    const int64_t axis = k < 0 ? -1 : attrs.integer((size_t)k);
    const Ints axes{normal_axis(op.record.name.c_str(), axis, y.rank())};
    auto total = [&](const Tensor &t) { return run1("reduce_sum", {t}, {{"axis", axes}, {"keep_dims", true}}); };
    return add(mul(g, add(dy, scaled(total(mul(y, dy)), -1))), scaled(mul(total(mul(g, y)), dy), -1));
}

// c = A B, where A is a or its transpose, B likewise: dA = dc B^T, dB = A^T dc. The transpose of a product swaps its factors.
Tensor matmul(const Tensor &x, bool transpose_x, const Tensor &y, bool transpose_y) {
    return run1("matmul", {x, y}, {{"transpose_a", transpose_x}, {"transpose_b", transpose_y}});
}
bool is_set(const Attrs &attrs, const char *flag) { return attrs.integer((size_t)attrs.find(flag)) != 0; }
Tensor matmul_in_a(In in, const RegisteredOp &, const Attrs &attrs) {
    const Tensor &b = in[0], &dc = in[1];
    const bool tb = is_set(attrs, "transpose_b");
    return is_set(attrs, "transpose_a") ? matmul(b, tb, dc, true) : matmul(dc, false, b, !tb);
}
Tensor matmul_in_b(In in, const RegisteredOp &, const Attrs &attrs) {
    const Tensor &a = in[0], &dc = in[1];
    const bool ta = is_set(attrs, "transpose_a");
    return is_set(attrs, "transpose_b") ? matmul(dc, true, a, ta) : matmul(a, !ta, dc, false);
}

Tensor again(In in, const RegisteredOp &op, const Attrs &attrs) { return std::move(Primitive(op, attrs).run(in)[0]); }

// The gradient of a sum or mean spreads dy over what was reduced; its adjoint reduces again.
Tensor reduce(In in, const RegisteredOp &op, const Attrs &attrs) {
    const RegisteredOp &forward = registry().at(op.record.name.substr(0, op.record.name.size() - 3));
    return std::move(Primitive(forward, Attrs(forward.record, op.record, attrs)).run(in)[0]);
}

// Element i is in the sums of all that follow it: its gradient sums theirs, from the other end.
Tensor cumsum_in_x(In in, const RegisteredOp &, const Attrs &attrs) {
    const auto value = [&](const char *name) { return attrs.integer((size_t)attrs.find(name)); };
    return run1("cumsum", {in[0]}, {{"axis", value("axis")}, {"exclusive", is_set(attrs, "exclusive")}, {"reverse", !is_set(attrs, "reverse")}});
}

// Norms: dx = dy sign x, and dy x / y; 0 where y is 0.
Tensor reduce_l1_in_x(In in, const RegisteredOp &op, const Attrs &attrs) { return mul(run1("sign", {in[0]}), spread(in.subspan(1), op, attrs)); }
Tensor reduce_l2_in_x(In in, const RegisteredOp &op, const Attrs &attrs) {
    const Tensor zero = Tensor::scalar(0, in[1].dtype()), one = Tensor::scalar(1, in[1].dtype());
    const Tensor length = run1("select", {run1("equal", {in[1], zero}), one, in[1]});
    return mul(in[0], spread({{run1("div", {in[2], length})}}, op, attrs));
}

}  // namespace

const ComposedGradient *composed_gradient(const std::string &op, const std::string &input) {
    static const std::vector<ComposedGradient> all = {
        {"add", "a", {"dy"}, pass},
        {"add", "b", {"dy"}, pass},
        {"addcdiv", "x", {"dy"}, pass},
        {"addcmul", "x", {"dy"}, pass},
        {"cast", "x", {"dy"}, pass},
        {"copy", "x", {"dy"}, pass},
        {"cumsum", "x", {"dy"}, cumsum_in_x},
        {"matmul", "a", {"b", "dc"}, matmul_in_a},
        {"matmul", "b", {"a", "dc"}, matmul_in_b},
        {"sub", "a", {"dy"}, pass},
        {"floor_mod", "a", {"dy"}, pass},
        {"logaddexp", "a", {"a", "b", "dy"}, logaddexp_in_a},
        {"logaddexp", "b", {"a", "b", "dy"}, logaddexp_in_b},
        {"mod", "a", {"dy"}, pass},
        // constant between steps
        {"ceil", "x", {}, none},
        {"floor", "x", {}, none},
        {"floor_div", "a", {}, none},
        {"floor_div", "b", {}, none},
        {"round", "x", {}, none},
        {"sign", "x", {}, none},
        {"trunc", "x", {}, none},
        {"reduce_sum", "x", {"dy"}, spread},
        {"reduce_l1", "x", {"x", "dy"}, reduce_l1_in_x},
        {"reduce_l2", "x", {"x", "y", "dy"}, reduce_l2_in_x},
        // second order
        {"mul_da", "a", {}, none},
        {"mul_db", "b", {}, none},
        {"mul_da", "b", {"dy", "dda"}, product},
        {"mul_db", "a", {"dy", "ddb"}, product},
        {"exp_dx", "y", {"dy", "ddx"}, product},
        {"tanh_dx", "y", {"y", "dy", "ddx"}, tanh_dx_in_y},
        {"relu_dx", "x", {}, none},
        {"relu_dx", "y", {}, none},
        {"sigmoid_dx", "y", {"y", "dy", "ddx"}, sigmoid_dx_in_y},
        {"softmax_dx", "y", {"y", "dy", "ddx"}, softmax_dx_in_y},
        {"softmax_dx", "dy", {"y", "ddx"}, again},
        {"dropout_kernel_dx", "dy", {"mask", "ddx"}, again},
        {"reduce_mean_dx", "dy", {"ddx"}, reduce},
    };
    for (const ComposedGradient &g : all)
        if (op == g.op && input == g.input) return &g;
    return nullptr;
}

}  // namespace halyard
