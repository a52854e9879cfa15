// Gradients without a kernel: of ops whose gradient moves nothing, and of gradient ops, for second
// derivatives. The ops run here are recorded by the tapes around the one that walks.
#include "primitives/autograd/adjoint.h"
#include "primitives/composites/composite.h"
#include "primitives/composites/composition.h"
#include "primitives/composites/resize.h"
#include "primitives/composites/scatter.h"
#include "primitives/composites/sorting.h"

namespace halyard {
namespace {

Tensor mul(const Tensor &a, const Tensor &b) {
    return run1("mul", {a, b});
}
Tensor add(const Tensor &a, const Tensor &b) {
    return run1("add", {a, b});
}
Tensor scaled(const Tensor &a, double by) {
    return mul(a, Tensor::scalar(by, a.dtype()));
}

// The tape sums or repeats it to the input's shape and casts it to the input's dtype.
Tensor pass(Tensors in, const RegisteredOp &, const Attrs &) {
    return in[0];
}
Tensor none(Tensors, const RegisteredOp &, const Attrs &) {
    return {};
}
Tensor product(Tensors in, const RegisteredOp &, const Attrs &) {
    return mul(in[0], in[1]);
}

// dy with the reduced dimensions back, of extent 1; the tape repeats it along them, as a view.
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

// tanh_dx = dy (1 - y^2)
Tensor tanh_dx_in_y(Tensors in, const RegisteredOp &, const Attrs &) {
    return scaled(mul(in[0], mul(in[1], in[2])), -2);
}
// sigmoid_dx = dy y (1 - y)
Tensor sigmoid_dx_in_y(Tensors in, const RegisteredOp &, const Attrs &) {
    return mul(mul(in[1], in[2]), add(scaled(in[0], -2), Tensor::scalar(1, in[0].dtype())));
}

// Each side's share of the sum e^a + e^b.
Tensor logaddexp_in_a(Tensors in, const RegisteredOp &, const Attrs &) {
    return mul(in[2], run1("sigmoid", {run1("sub", {in[0], in[1]})}));
}
Tensor logaddexp_in_b(Tensors in, const RegisteredOp &, const Attrs &) {
    return mul(in[2], run1("sigmoid", {run1("sub", {in[1], in[0]})}));
}

// softmax_dx = y (dy - sum y dy), sums along axis
Tensor softmax_dx_in_y(Tensors in, const RegisteredOp &op, const Attrs &attrs) {
    const Tensor &y = in[0];
    const Tensor &dy = in[1];
    const Tensor &g = in[2];
    const int k = attrs.find("axis");
    const int64_t axis = k < 0 ? -1 : attrs.integer(size_t(k));
    const Ints axes{normal_axis(op.record.name.c_str(), axis, y.rank())};
    auto total = [&](const Tensor &t) {
        return run1("reduce_sum", {t}, {{"axis", axes}, {"keep_dims", true}});
    };
    return add(mul(g, add(dy, scaled(total(mul(y, dy)), -1))),
               scaled(mul(total(mul(g, y)), dy), -1));
}

// c = A B, where A is a or its transpose, B likewise: dA = dc B^T, dB = A^T dc. The transpose of a
// product swaps its factors.
Tensor matmul(const Tensor &x, bool transpose_x, const Tensor &y, bool transpose_y) {
    return run1("matmul", {x, y}, {{"transpose_a", transpose_x}, {"transpose_b", transpose_y}});
}
Tensor matmul_in_a(Tensors in, const RegisteredOp &, const Attrs &attrs) {
    const Tensor &b = in[0];
    const Tensor &dc = in[1];
    const bool tb = is_set(attrs, "transpose_b");
    return is_set(attrs, "transpose_a") ? matmul(b, tb, dc, true) : matmul(dc, false, b, !tb);
}
Tensor matmul_in_b(Tensors in, const RegisteredOp &, const Attrs &attrs) {
    const Tensor &a = in[0];
    const Tensor &dc = in[1];
    const bool ta = is_set(attrs, "transpose_a");
    return is_set(attrs, "transpose_b") ? matmul(dc, true, a, ta) : matmul(a, !ta, dc, false);
}

// Convolution is linear in its input and in its weights: each gradient's gradients are the other
// two of the three.
Tensor convolved(const char *name, Tensors in, const RegisteredOp &op, const Attrs &attrs) {
    const RegisteredOp &other = registry().at(name);
    return std::move(Primitive(other, Attrs(other.record, op.record, attrs)).run(in)[0]);
}
Tensor conv2d_of(Tensors in, const RegisteredOp &op, const Attrs &attrs) {
    return convolved("conv2d", in, op, attrs);
}
Tensor conv2d_dx_of(Tensors in, const RegisteredOp &op, const Attrs &attrs) {
    return convolved("conv2d_dx", in, op, attrs);
}
Tensor conv2d_dweight_of(Tensors in, const RegisteredOp &op, const Attrs &attrs) {
    return convolved("conv2d_dweight", in, op, attrs);
}

Tensor gathered(Tensors in, const RegisteredOp &, const Attrs &) {
    return run1("gather_kernel", {in[1], in[0], Tensor::scalar(0, in[1].dtype())});
}

Tensor again(Tensors in, const RegisteredOp &op, const Attrs &attrs) {
    return std::move(Primitive(op, attrs).run(in)[0]);
}

// The gradient of a sum or mean spreads dy over what was reduced; its adjoint reduces again.
Tensor reduce(Tensors in, const RegisteredOp &op, const Attrs &attrs) {
    const RegisteredOp &forward = registry().at(
        op.record.name.substr(0, op.record.name.size() - 3));
    return std::move(Primitive(forward, Attrs(forward.record, op.record, attrs)).run(in)[0]);
}

// Element i is in the sums of all that follow it: its gradient sums theirs, from the other end.
Tensor cumsum_in_x(Tensors in, const RegisteredOp &, const Attrs &attrs) {
    return run1("cumsum", {in[0]},
                {{"axis", integer(attrs, "axis")},
                 {"exclusive", is_set(attrs, "exclusive")},
                 {"reverse", !is_set(attrs, "reverse")}});
}

// dy times the product of all others, by the products before and behind each: nothing is divided,
// so that zeros need no care.
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
    const auto product = [&](bool from_end) {
        return run1("cumprod", {row}, {{"axis", -1}, {"exclusive", true}, {"reverse", from_end}});
    };
    const Tensor others = reshaped(mul(product(false), product(true)), moved.shape());
    return mul(transposed(others, back), spread(in.subspan(1), op, attrs));
}

// A running extremum is the element at its place.
Tensor running_in_x(Tensors in, const RegisteredOp &, const Attrs &attrs) {
    return added_along(in[0], integer(attrs, "axis"), in[1], in[2]);
}
Tensor elements_gathered(Tensors in, const RegisteredOp &, const Attrs &attrs) {
    return run1("gather_elements_kernel", {in[1], in[0]},
                {{"some_negative", is_set(attrs, "some_negative")}});
}

// Norms: dx = dy sign x, and dy x / y; 0 where y is 0.
Tensor reduce_l1_in_x(Tensors in, const RegisteredOp &op, const Attrs &attrs) {
    return mul(run1("sign", {in[0]}), spread(in.subspan(1), op, attrs));
}
Tensor reduce_l2_in_x(Tensors in, const RegisteredOp &op, const Attrs &attrs) {
    const Tensor zero = Tensor::scalar(0, in[1].dtype());
    const Tensor one = Tensor::scalar(1, in[1].dtype());
    const Tensor length = run1("select", {run1("equal", {in[1], zero}), one, in[1]});
    return mul(in[0], spread({{run1("div", {in[2], length})}}, op, attrs));
}

// normalize_kernel: y = (x - mean) scale + offset
Tensor minus_product(Tensors in, const RegisteredOp &, const Attrs &) {
    return run1("neg", {mul(in[0], in[1])});
}
Tensor deviation_product(Tensors in, const RegisteredOp &, const Attrs &) {
    return mul(run1("sub", {in[0], in[1]}), in[2]);
}

// Losses in their targets. Of x - target a loss in x moves the other way.
Tensor smooth_l1_in_target(Tensors in, const RegisteredOp &op, const Attrs &attrs) {
    const RegisteredOp &in_x = registry().at(op.record.name + "_dx");
    return run1("neg", {Primitive(in_x, Attrs(in_x.record, op.record, attrs)).run(in)[0]});
}
// dy (log(1-x) - log x), logarithms at least -100
Tensor bce_in_target(Tensors in, const RegisteredOp &, const Attrs &) {
    const Tensor least = Tensor::scalar(-100, in[0].dtype());
    const auto floored = [&](const Tensor &t) { return run1("maximum", {t, least}); };
    return mul(in[1], run1("sub", {floored(run1("log1p", {run1("neg", {in[0]})})),
                                   floored(run1("log", {in[0]}))}));
}
// dy (-x + (pos_weight - 1) log(1 + e^-x)), and dy target log(1 + e^-x)
Tensor bce_logits_in_target(Tensors in, const RegisteredOp &, const Attrs &) {
    const Tensor minus_x = run1("neg", {in[0]});
    const Tensor more = run1("sub", {in[1], Tensor::scalar(1, in[1].dtype())});
    return mul(in[2], add(minus_x, mul(more, run1("softplus", {minus_x}))));
}
Tensor bce_logits_in_pos_weight(Tensors in, const RegisteredOp &, const Attrs &) {
    return mul(mul(in[1], in[2]), run1("softplus", {run1("neg", {in[0]})}));
}

}  // namespace

const ComposedGradient *composed_gradient(const std::string &op, const std::string &input) {
    // Never destroyed: threads that main() didn't wait for still call ops.
    static const auto &all = *new const std::vector<ComposedGradient>{
        {"add", "a", {"dy"}, pass},
        {"add", "b", {"dy"}, pass},
        {"addcdiv", "x", {"dy"}, pass},
        {"addcmul", "x", {"dy"}, pass},
        {"band_kernel", "x", {"dy"}, again},
        {"cast", "x", {"dy"}, pass},
        {"copy", "x", {"dy"}, pass},
        {"cummax", "x", {"x", "index", "dy"}, running_in_x},
        {"cummin", "x", {"x", "index", "dy"}, running_in_x},
        {"cumsum", "x", {"dy"}, cumsum_in_x},
        // without an activation: primitives/composites/contraction.cpp
        {"dense_kernel", "a", {"b", "dc"}, matmul_in_a},
        {"dense_kernel", "b", {"a", "dc"}, matmul_in_b},
        {"dense_kernel", "bias", {"dc"}, pass},
        {"matmul", "a", {"b", "dc"}, matmul_in_a},
        {"matmul", "b", {"a", "dc"}, matmul_in_b},
        {"resize_kernel",
         "x",
         {"x", "row", "row_weight", "column", "column_weight", "dy"},
         resize_in_x},
        {"scatter_kernel", "x", {"x", "index", "updates", "y", "dy"}, scatter_in_x},
        {"scatter_kernel", "updates", {"x", "index", "updates", "y", "dy"}, scatter_in_updates},
        {"sub", "a", {"dy"}, pass},
        {"floor_mod", "a", {"dy"}, pass},
        {"normalize_kernel", "x", {"scale", "dy"}, product},
        {"normalize_kernel", "mean", {"scale", "dy"}, minus_product},
        {"normalize_kernel", "scale", {"x", "mean", "dy"}, deviation_product},
        {"normalize_kernel", "offset", {"dy"}, pass},
        {"smooth_l1_kernel", "target", {"x", "target", "dy"}, smooth_l1_in_target},
        {"bce_kernel", "target", {"x", "dy"}, bce_in_target},
        {"bce_logits_kernel", "target", {"x", "pos_weight", "dy"}, bce_logits_in_target},
        {"bce_logits_kernel", "pos_weight", {"x", "target", "dy"}, bce_logits_in_pos_weight},
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
        {"reduce_prod", "x", {"x", "dy"}, reduce_prod_in_x},
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
        {"gather_kernel_dx", "x", {}, none},
        {"gather_kernel_dx", "dy", {"index", "ddx"}, gathered},
        {"gather_elements_kernel_dx", "x", {}, none},
        {"gather_elements_kernel_dx", "dy", {"index", "ddx"}, elements_gathered},
        {"conv2d_dx", "x", {}, none},
        {"conv2d_dx", "weight", {"ddx", "weight", "dy"}, conv2d_dweight_of},
        {"conv2d_dx", "dy", {"ddx", "weight"}, conv2d_of},
        {"conv2d_dweight", "weight", {}, none},
        {"conv2d_dweight", "x", {"x", "ddweight", "dy"}, conv2d_dx_of},
        {"conv2d_dweight", "dy", {"x", "ddweight"}, conv2d_of},
        {"dropout_kernel_dx", "dy", {"mask", "ddx"}, again},
        {"reduce_mean_dx", "dy", {"ddx"}, reduce},
    };
    for (const ComposedGradient &g : all)
        if (op == g.op && input == g.input) return &g;
    return nullptr;
}

}  // namespace halyard
