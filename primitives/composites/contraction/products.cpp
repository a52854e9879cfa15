// Products under the names that NumPy, PyTorch and MindSpore give to special cases of matmul.
#include <algorithm>
#include <cmath>
#include <map>

#include "primitives/composites/argument_checks.h"
#include "primitives/composites/einsum.h"
#include "primitives/operators.h"
#include "primitives/ops/matmul.h"
#include "primitives/ops/reduce.h"

namespace halyard {
namespace {

using Product = Tensor (*)(const Call &call, const Tensor &a, const Tensor &b);

Tensor batches(const Call &call, const Tensor &a, const Tensor &b) {
    expect_rank(call, "a", a, 3);
    expect_rank(call, "b", b, 3);
    expect_extent(call, "b.k", b.shape()[1], "a.k", a.shape()[2]);
    expect_extent(call, "b.g", b.shape()[0], "a.g", a.shape()[0]);
    return F::matmul(a, b);
}
Tensor matrices(const Call &call, const Tensor &a, const Tensor &b) {
    expect_rank(call, "a", a, 2);
    expect_rank(call, "b", b, 2);
    expect_extent(call, "b.k", b.shape()[0], "a.k", a.shape()[1]);
    return F::matmul(a, b);
}

Tensor times_vector(const Call &call, const Tensor &matrix, const Tensor &vector) {
    expect_rank(call, "a", matrix, 2);
    expect_rank(call, "b", vector, 1);
    expect_extent(call, "b.k", vector.elements(), "a.k", matrix.shape()[1]);
    return reshaped(F::matmul(matrix, reshaped(vector, {vector.elements(), 1})),
                    {matrix.shape()[0]});
}

Tensor outer(const Call &call, const Tensor &a, const Tensor &b) {
    expect_rank(call, "a", a, 1);
    expect_rank(call, "b", b, 1);
    expect_dtype(call, "b", b, a.dtype());
    return reshaped(a, {a.elements(), 1}) * b;
}

// Returns the sum of products over one axis of x for each of y. The other axes of x come first,
// then those of y.
Tensor over(const Call &call, const Tensor &x, const Ints &x_axes, const Tensor &y,
            const Ints &y_axes) {
    Labels xs, ys, out;
    for (int d = 0; d < x.rank(); d++)
        xs.push_back(d);
    for (int d = 0; d < y.rank(); d++)
        ys.push_back(max_rank + d);
    for (size_t k = 0; k < x_axes.size(); k++) {
        const int u = normal_axis(call.op().c_str(), x_axes[k], x.rank());
        const int v = normal_axis(call.op().c_str(), y_axes[k], y.rank());
        expect_extent(call, ("b's extent " + std::to_string(v)).c_str(), y.shape()[v],
                      ("a's extent " + std::to_string(u)).c_str(), x.shape()[u]);
        ys[size_t(v)] = u;
    }
    for (int label : xs)
        if (std::find(ys.begin(), ys.end(), label) == ys.end()) out.push_back(label);
    for (int label : ys)
        if (label >= max_rank) out.push_back(label);
    return contracted(call.op(), x, xs, y, ys, out);
}

Tensor dot(const Call &call, const Tensor &a, const Tensor &b) {
    return over(call, a, {-1}, b, {b.rank() == 1 ? -1 : -2});
}

Tensor inner(const Call &call, const Tensor &a, const Tensor &b) {
    return over(call, a, {-1}, b, {-1});
}

// Ops that take several kernels compute 16-bit floats in f32, so that results are rounded to 16
// bits once.
DType wide(DType d) {
    return bytes_of(d) == 2 ? DType::f32 : d;
}

// Returns t times a factor, which is left out if it is 1. Throws AttrError for a fraction of
// integers.
Tensor times(const Call &call, const Tensor &t, const char *factor) {
    const double by = call.real(factor);
    if (by == 1) return t;
    if (!is_integer(t.dtype())) return t * by;
    if (by != std::nearbyint(by) || std::fabs(by) > INT32_MAX) {
        throw AttrError(call.op(), std::string(factor) + " is " + std::to_string(by) +
                                       ", expected an integer for " + name_of(t.dtype()));
    }
    return t * int64_t(by);
}

// Returns beta x + alpha product. If beta is 0, x is left out: it may then hold anything.
Tensor weighted(const Call &call, const Tensor &x, const Tensor &product) {
    const Tensor scaled = times(call, product, "alpha");
    return call.real("beta") == 0 ? scaled : scaled + times(call, x, "beta");
}

// Returns `product` of the second and third input, which checks their ranks, added to the first.
Result added(const Call &call, Product product) {
    const DType given = call[0].dtype();
    for (size_t k = 1; k < call.in.size(); k++) {
        if (call[k].dtype() != given) {
            throw DTypeError(call.op(), std::string(k == 1 ? "a" : "b") + " is " +
                                            name_of(call[k].dtype()) + ", expected " +
                                            name_of(given) + " like x");
        }
    }
    const auto widened = [&](size_t k) { return cast_to(call[k], wide(given)); };
    return {cast_to(weighted(call, widened(0), product(call, widened(1), widened(2))), given)};
}

// Sets c to the sum of products over the axes that the result lacks: c["mn"] = sum over k of
// a["mk"] b["kn"]. `terms` gets the sums of the terms' absolute values.
void sum_of_products(const Array &a, const std::string &a_axes, const Array &b,
                     const std::string &b_axes, const std::string &c_axes, Array &c, Array &terms) {
    std::map<char, int64_t> extents, at;
    for (int d = 0; d < a.shape.rank(); d++)
        extents[a_axes[size_t(d)]] = a.shape[d];
    for (int d = 0; d < b.shape.rank(); d++)
        extents[b_axes[size_t(d)]] = b.shape[d];
    Shape s;
    for (char letter : c_axes)
        s.push_back(extents[letter]);
    c = terms = Array(s);
    const auto place = [&](const Array &t, const std::string &axes) {
        int64_t index = 0;
        for (int d = 0; d < t.shape.rank(); d++)
            index = index * t.shape[d] + at[axes[size_t(d)]];
        return size_t(index);
    };
    int64_t total = 1;
    for (auto &[letter, extent] : extents)
        total *= extent;
    for (int64_t i = 0; i < total; i++) {
        int64_t rest = i;
        for (auto &[letter, extent] : extents) {
            at[letter] = rest % extent;
            rest /= extent;
        }
        const double product = a.v[place(a, a_axes)] * b.v[place(b, b_axes)];
        c.v[place(c, c_axes)] += product;
        terms.v[place(c, c_axes)] += std::fabs(product);
    }
}

struct ProductName : Composite {
    const std::string a, b, c;  // the letters of their axes
    const Product product;
    ProductName(const std::string &name, const std::string &signature, const std::string &formula,
                std::string as, std::string bs, std::string cs, std::vector<std::string> problems,
                Product how)
        : Composite(name, signature, formula), a(std::move(as)), b(std::move(bs)), c(std::move(cs)),
          product(how) {
        dtypes = {"f32", "f16", "bf16", "f64", "i32"};
        contract = {Contract::products, 16};
        samples = std::move(problems);
    }
    Result compose(const Call &call) const override { return {product(call, call[0], call[1])}; }
    void reference(Problem &p) const override {
        sum_of_products(p("a"), a, p("b"), b, c, p.tensors["y"], p.abs_sum["y"]);
    }
};

struct TensorDot : Composite {
    TensorDot()
        : Composite(
              "tensor_dot", "a[*] b[*] -> y[*]",
              "y = sum of a b over a's axes axes_a and b's axes axes_b; a's other axes, then b's") {
        at_call("axes_a", AttrKind::ints, "");
        at_call("axes_b", AttrKind::ints, "");
        dtypes = {"f32", "f16", "bf16", "f64", "i32"};
        contract = {Contract::products, 16};
        samples = {"d0=2 d1=3 d2=5 axes_a=1,2 axes_b=-2,-1", "d0=2 d1=3 d2=3 axes_a=1 axes_b=2"};
    }
    Result compose(const Call &call) const override {
        const Ints &x = call.ints("axes_a");
        const Ints &y = call.ints("axes_b");
        if (x.size() != y.size()) {
            throw AttrError("tensor_dot", "axes_b has " + std::to_string(y.size()) +
                                              " axes, expected " + std::to_string(x.size()) +
                                              " as axes_a");
        }
        for (const auto &[axes, t] : {std::pair{&x, &call[0]}, std::pair{&y, &call[1]}}) {
            unsigned seen = 0;
            for (int64_t axis : *axes) {
                const unsigned bit = 1u << normal_axis("tensor_dot", axis, t->rank());
                if (seen & bit)
                    throw AttrError("tensor_dot",
                                    "axis " + std::to_string(axis) + " is given twice");
                seen |= bit;
            }
        }
        return {over(call, call[0], x, call[1], y)};
    }
    void reference(Problem &p) const override {
        std::string a = "abc", b = "def", c = "abcdef";
        const Shape x = list(p, "axes_a");
        const Shape y = list(p, "axes_b");
        for (int k = 0; k < x.rank(); k++) {
            char &letter = b[size_t(y[k] < 0 ? y[k] + 3 : y[k])];
            const char own = a[size_t(x[k] < 0 ? x[k] + 3 : x[k])];
            for (char gone : {letter, own})
                c.erase(c.find(gone), 1);
            letter = own;
        }
        sum_of_products(p("a"), a, p("b"), b, c, p.tensors["y"], p.abs_sum["y"]);
    }
};

struct VecDot : ProductName {
    VecDot()
        : ProductName("vecdot", "a[*] b[*] -> y[*]",
                      "y = sum of a b along axis; the others broadcast", "abc", "abc", "ab",
                      {"d0=2 d1=3 d2=9"}, nullptr) {
        attr("axis", -1);
    }
    Result compose(const Call &call) const override {
        const DType given = call[0].dtype();
        const Tensor products = cast_to(call[0], wide(given)) * cast_to(call[1], wide(given));
        const int axis = normal_axis("vecdot", call.integer("axis"), products.rank());
        return {cast_to(F::reduce_sum(products, {axis}), given)};
    }
};

// y = beta x + alpha product
struct AddProduct : ProductName {
    AddProduct(const std::string &name, const std::string &signature, const std::string &formula,
               const std::string &as, const std::string &bs, const std::string &cs,
               const std::vector<std::string> &problems, Product how)
        : ProductName(name, signature, formula, as, bs, cs, problems, how) {
        at_call("beta", AttrKind::real, "1");
        at_call("alpha", AttrKind::real, "1");
    }
    Result compose(const Call &call) const override { return added(call, product); }
    void reference(Problem &p) const override {
        ProductName::reference(p);
        Array &y = p("y");
        Array &size = p.abs_sum["y"];
        const Array &x = p("x");
        for (size_t e = 0; e < y.v.size(); e++) {
            const double added = p.real("beta") * x.v[e % x.v.size()];
            const double product = p.real("alpha") * y.v[e];
            size.v[e] = std::fabs(p.real("alpha")) * size.v[e] + std::fabs(added);
            y.v[e] = product + added;
        }
    }
};

}  // namespace

HALYARD_COMPOSITES {
    composites.add<ProductName>(
        "bmm", "a[g,m,k] b[g,k,n] -> y[g,m,n]", "y = a b, matrix by matrix", "gmk", "gkn", "gmn",
        std::vector<std::string>{"g=3 m=5 k=7 n=4", "g=1 m=1 k=1 n=1"}, batches);
    composites.add<ProductName>("mv", "a[m,k] b[k] -> y[m]", "y = a b, a matrix and a vector", "mk",
                                "k", "m", std::vector<std::string>{"m=5 k=7", "m=33 k=70"},
                                times_vector);
    composites.add<ProductName>("outer", "a[m] b[n] -> y[m,n]", "y = a_m b_n", "m", "n", "mn",
                                std::vector<std::string>{"m=5 n=7"}, outer);
    composites.add<ProductName>(
        "dot", "a[*] b[*] -> y[*]",
        "y = sum of a b over a's last axis and b's last but one, or only one", "abk", "dkf", "abdf",
        std::vector<std::string>{"d0=2 d1=5 d2=5"}, dot);
    composites.add<ProductName>("inner", "a[*] b[*] -> y[*]",
                                "y = sum of a b over the last axis of both", "abk", "dek", "abde",
                                std::vector<std::string>{"d0=2 d1=3 d2=5"}, inner);
    composites.add<VecDot>();
    composites.add<TensorDot>();
    composites.add<AddProduct>(
        "addmm", "x[m,n] a[m,k] b[k,n] -> y[m,n]", "y = beta x + alpha a b; x broadcasts", "mk",
        "kn", "mn", std::vector<std::string>{"m=5 k=7 n=4", "m=9 k=20 n=17 beta=3 alpha=-2"},
        matrices);
    composites.add<AddProduct>(
        "addmv", "x[m] a[m,k] b[k] -> y[m]", "y = beta x + alpha a b; x broadcasts", "mk", "k", "m",
        std::vector<std::string>{"m=5 k=7", "m=9 k=20 beta=3 alpha=-2"}, times_vector);
    composites.add<AddProduct>(
        "baddbmm", "x[g,m,n] a[g,m,k] b[g,k,n] -> y[g,m,n]",
        "y = beta x + alpha a b, matrix by matrix; x broadcasts", "gmk", "gkn", "gmn",
        std::vector<std::string>{"g=3 m=5 k=7 n=4", "g=2 m=9 k=20 n=17 beta=3 alpha=-2"}, batches);
}

}  // namespace halyard
