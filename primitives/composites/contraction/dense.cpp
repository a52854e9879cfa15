// dense: a product, a bias and an activation in one kernel.
#include <cmath>

#include "primitives/autograd/tape.h"
#include "primitives/composites/argument_checks.h"
#include "primitives/ops/dense_kernel.h"
#include "primitives/ops/matmul.h"
#include "registry/op/reference_math.h"

namespace halyard {
namespace {

struct Dense : Composite {
    Dense()
        : Composite(
              "dense", "x[..g,k] weight[n,k] bias[n] -> y[..g,n]",
              "y = activation(x weight^T + bias), along the last dimension of x, which is k") {
        choice<F::Activation>("activation");
        dtypes = {"f32", "f16", "bf16", "f64"};
        contract = {Contract::products, 16};
        samples = {"g=1 k=1 n=1", "g=6 k=9 n=5", "g=12 k=17 n=33 activation=gelu"};
        bench = {"g=8 k=768 n=3072 activation=gelu", "g=1024 k=768 n=3072 activation=gelu"};
    }
    Result compose(const Call &call) const override {
        const Tensor &x = call[0];
        const Tensor &weight = call[1];
        const Tensor &bias = call[2];
        if (x.rank() == 0) throw ShapeError("dense", "x has rank 0, expected at least 1");
        expect_rank(call, "weight", weight, 2);
        expect_rank(call, "bias", bias, 1);
        expect_extent(call, "x's last extent", x.size(-1), "weight.k", weight.shape()[1]);
        expect_extent(call, "bias.n", bias.shape()[0], "weight.n", weight.shape()[0]);
        // A gradient needs the input of the activation, so that is an op of its own while a tape
        // records.
        const F::Activation activation = call.choice("activation");
        const bool separate = activation != F::Activation::none && Tape::current();
        Shape s = x.shape();
        int64_t rows = 1;
        for (int d = 0; d + 1 < s.rank(); d++)
            rows *= s[d];
        s[s.rank() - 1] = weight.shape()[0];
        const Tensor y = reshaped(kernel::dense(reshaped(x, {rows, x.size(-1)}), weight, bias,
                                                false, true,
                                                separate ? F::Activation::none : activation),
                                  s);
        return {separate ? run1(activation.text().c_str(), {y}) : y};
    }
    void reference(Problem &p) const override {
        const Array &x = p("x"), &weight = p("weight"), &bias = p("bias");
        Shape s = x.shape;
        s[s.rank() - 1] = p["n"];
        Array y(s), size(s);
        for (size_t e = 0; e < y.v.size(); e++) {
            const int64_t row = int64_t(e) / p["n"];
            const int64_t column = int64_t(e) % p["n"];
            double z = bias(column);
            double terms = std::fabs(z);
            for (int64_t t = 0; t < p["k"]; t++) {
                const double product = x.v[size_t(row * p["k"] + t)] * weight(column, t);
                z += product;
                terms += std::fabs(product);
            }
            y.v[e] = activations[p["activation"]].value(z);
            size.v[e] = terms + std::fabs(y.v[e]);
        }
        p.tensors["y"] = y;
        p.abs_sum["y"] = size;
    }
};

// c = A B, where A is a or its transpose, and B likewise: dA = dc B^T, dB = A^T dc. The transpose
// of a product swaps its factors.
Tensor matmul(const Tensor &x, bool transpose_x, const Tensor &y, bool transpose_y) {
    return F::matmul(x, y, transpose_x, transpose_y);
}

// in = {b, dc}.
Tensor product_in_a(Tensors in, const RegisteredOp &, const Attrs &attrs) {
    const Tensor &b = in[0];
    const Tensor &dc = in[1];
    const bool tb = is_set(attrs, "transpose_b");
    return is_set(attrs, "transpose_a") ? matmul(b, tb, dc, true) : matmul(dc, false, b, !tb);
}

// in = {a, dc}.
Tensor product_in_b(Tensors in, const RegisteredOp &, const Attrs &attrs) {
    const Tensor &a = in[0];
    const Tensor &dc = in[1];
    const bool ta = is_set(attrs, "transpose_a");
    return is_set(attrs, "transpose_b") ? matmul(dc, true, a, ta) : matmul(a, !ta, dc, false);
}

}  // namespace

HALYARD_COMPOSITES {
    composites.add<Dense>();
    // dense_kernel has none when an activation follows: compose() separates it.
    composites.gradient({"dense_kernel", "a", {"b", "dc"}, product_in_a});
    composites.gradient({"dense_kernel", "b", {"a", "dc"}, product_in_b});
    composites.gradient({"dense_kernel", "bias", {"dc"}, pass_gradient});
    composites.gradient({"matmul", "a", {"b", "dc"}, product_in_a});
    composites.gradient({"matmul", "b", {"a", "dc"}, product_in_b});
}

}  // namespace halyard
