// Compositions of products: dense, and the products that matmul's kernels serve under other names
// (records: kernels/contraction/dense.cpp, kernels/contraction/einsum.cpp).
#include <algorithm>

#include "primitives/autograd/tape.h"
#include "primitives/composites/argument_checks.h"
#include "primitives/composites/composite.h"
#include "primitives/composites/composition.h"
#include "primitives/composites/einsum.h"

namespace halyard {
namespace {

// Gradients want what goes into the activation, so it is an op of its own while a tape records.
Result dense(Tensors in, const Attrs &a) {
    const Tensor &x = in[0];
    const Tensor &weight = in[1];
    const Tensor &bias = in[2];
    if (x.rank() == 0) throw ShapeError("dense", "x has rank 0, expected at least 1");
    expect_rank(a, "weight", weight, 2);
    expect_rank(a, "bias", bias, 1);
    expect_extent(a, "x's last extent", x.size(-1), "weight.k", weight.shape()[1]);
    expect_extent(a, "bias.n", bias.shape()[0], "weight.n", weight.shape()[0]);
    const size_t k = size_t(a.find("activation"));
    const int64_t activation = a.integer(k);
    const bool apart = activation != 0 && Tape::current();
    Shape s = x.shape();
    int64_t rows = 1;
    for (int d = 0; d + 1 < s.rank(); d++)
        rows *= s[d];
    s[s.rank() - 1] = weight.shape()[0];
    const std::string name = a.op().attrs[k].choices[size_t(activation)];
    const Tensor y = reshaped(
        run1("dense_kernel", {reshaped(x, {rows, x.size(-1)}), weight, bias},
             {{"transpose_b", true}, {"activation", apart ? std::string("none") : name}}),
        s);
    return {apart ? run1(name.c_str(), {y}) : y};
}

Tensor batches(const Attrs &attrs, const Tensor &a, const Tensor &b) {
    expect_rank(attrs, "a", a, 3);
    expect_rank(attrs, "b", b, 3);
    expect_extent(attrs, "b.k", b.shape()[1], "a.k", a.shape()[2]);
    expect_extent(attrs, "b.g", b.shape()[0], "a.g", a.shape()[0]);
    return run1("matmul", {a, b});
}
Result bmm(Tensors in, const Attrs &a) {
    return {batches(a, in[0], in[1])};
}

Tensor times_vector(const Attrs &a, const Tensor &matrix, const Tensor &vector) {
    expect_rank(a, "a", matrix, 2);
    expect_rank(a, "b", vector, 1);
    expect_extent(a, "b.k", vector.elements(), "a.k", matrix.shape()[1]);
    return reshaped(run1("matmul", {matrix, reshaped(vector, {vector.elements(), 1})}),
                    {matrix.shape()[0]});
}
Result mv(Tensors in, const Attrs &a) {
    return {times_vector(a, in[0], in[1])};
}

Result outer(Tensors in, const Attrs &a) {
    expect_rank(a, "a", in[0], 1);
    expect_rank(a, "b", in[1], 1);
    return {run1("mul", {reshaped(in[0], {in[0].elements(), 1}), in[1]})};
}

// a and b over one axis of each; what is left of a, then of b.
Tensor over(const Attrs &a, const Tensor &x, const Ints &x_axes, const Tensor &y,
            const Ints &y_axes) {
    Labels xs, ys, out;
    for (int d = 0; d < x.rank(); d++)
        xs.push_back(d);
    for (int d = 0; d < y.rank(); d++)
        ys.push_back(max_rank + d);
    for (size_t k = 0; k < x_axes.size(); k++) {
        const int u = normal_axis(a.op().name.c_str(), x_axes[k], x.rank());
        const int v = normal_axis(a.op().name.c_str(), y_axes[k], y.rank());
        expect_extent(a, ("b's extent " + std::to_string(v)).c_str(), y.shape()[v],
                      ("a's extent " + std::to_string(u)).c_str(), x.shape()[u]);
        ys[size_t(v)] = u;
    }
    for (int label : xs)
        if (std::find(ys.begin(), ys.end(), label) == ys.end()) out.push_back(label);
    for (int label : ys)
        if (label >= max_rank) out.push_back(label);
    return contracted(a.op().name, x, xs, y, ys, out);
}
Result dot(Tensors in, const Attrs &a) {
    return {over(a, in[0], {-1}, in[1], {in[1].rank() == 1 ? -1 : -2})};
}
Result inner(Tensors in, const Attrs &a) {
    return {over(a, in[0], {-1}, in[1], {-1})};
}

Result tensor_dot(Tensors in, const Attrs &a) {
    const Ints &x = ints(a, "axes_a");
    const Ints &y = ints(a, "axes_b");
    if (x.size() != y.size()) {
        throw AttrError("tensor_dot", "axes_b has " + std::to_string(y.size()) +
                                          " axes, expected " + std::to_string(x.size()) +
                                          " as axes_a");
    }
    for (const auto &[axes, t] : {std::pair{&x, &in[0]}, std::pair{&y, &in[1]}}) {
        unsigned seen = 0;
        for (int64_t axis : *axes) {
            const unsigned bit = 1u << normal_axis("tensor_dot", axis, t->rank());
            if (seen & bit)
                throw AttrError("tensor_dot", "axis " + std::to_string(axis) + " is given twice");
            seen |= bit;
        }
    }
    return {over(a, in[0], x, in[1], y)};
}

// What takes several ops computes in f32 where it is given 16 bits, so that it rounds to them once.
DType wide(DType d) {
    return bytes_of(d) == 2 ? DType::f32 : d;
}

Result vecdot(Tensors in, const Attrs &a) {
    const DType given = in[0].dtype();
    const Tensor products = run1("mul", {cast_to(in[0], wide(given)), cast_to(in[1], wide(given))});
    const Ints axis{normal_axis("vecdot", integer(a, "axis"), products.rank())};
    return {cast_to(run1("reduce_sum", {products}, {{"axis", axis}}), given)};
}

// beta x + alpha product, without the factors that are 1, and without x where beta is 0, which may
// hold anything.
Tensor weighted(const Attrs &a, const Tensor &x, const Tensor &product) {
    const double alpha = real(a, "alpha");
    const double beta = real(a, "beta");
    const auto times = [](const Tensor &t, double by) {
        return by == 1 ? t : run1("mul", {t, Tensor::scalar(by, t.dtype())});
    };
    return beta == 0 ? times(product, alpha) : run1("add", {times(product, alpha), times(x, beta)});
}
// x, then the operands of `product`, which gets them with its rank checks to do.
Result added(Tensors in, const Attrs &a,
             Tensor (*product)(const Attrs &a, const Tensor &b, const Tensor &c)) {
    const DType given = in[0].dtype();
    for (size_t k = 1; k < in.size(); k++) {
        if (in[k].dtype() != given) {
            throw DTypeError(a.op().name, std::string(k == 1 ? "a" : "b") + " is " +
                                              name_of(in[k].dtype()) + ", expected " +
                                              name_of(given) + " like x");
        }
    }
    const auto widened = [&](size_t k) { return cast_to(in[k], wide(given)); };
    return {cast_to(weighted(a, widened(0), product(a, widened(1), widened(2))), given)};
}
Result addmm(Tensors in, const Attrs &attrs) {
    return added(in, attrs, [](const Attrs &a, const Tensor &b, const Tensor &c) {
        expect_rank(a, "a", b, 2);
        expect_rank(a, "b", c, 2);
        expect_extent(a, "b.k", c.shape()[0], "a.k", b.shape()[1]);
        return run1("matmul", {b, c});
    });
}
Result addmv(Tensors in, const Attrs &attrs) {
    return added(in, attrs, times_vector);
}
Result baddbmm(Tensors in, const Attrs &attrs) {
    return added(in, attrs, batches);
}

}  // namespace

Family contraction_family() {
    static const Family::value_type all[] = {
        {"dense", dense}, {"bmm", bmm},     {"mv", mv},          {"outer", outer},
        {"dot", dot},     {"inner", inner}, {"vecdot", vecdot},  {"tensor_dot", tensor_dot},
        {"addmm", addmm}, {"addmv", addmv}, {"baddbmm", baddbmm}};
    return all;
}

}  // namespace halyard
