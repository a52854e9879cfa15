// dense_kernel: a product, a bias and an activation in one pass, for inference. dense is composed
// of it in primitives/composites/contraction/dense.cpp.
#include <algorithm>
#include <cmath>

#include "dsl/reference_math.h"
#include "kernels/contraction/product.h"

namespace halyard {
namespace {

using Halide::Expr;

// The activations in the order of their references (registry/op/reference_math.h).
using ActivationFunction = Expr (*)(const Expr &x);
const ActivationFunction activation_functions[] = {
    [](const Expr &x) { return x; },
    [](const Expr &x) { return max(x, 0_r); },
    math::gelu,
    math::gelu_tanh,
    math::silu,
    math::sigmoid,
    [](const Expr &x) { return tanh(x); },
};
static_assert(std::size(activation_functions) == std::size(activations));

struct DenseKernel : Product {
    DenseKernel() : Product("dense_kernel", "a[..g,m,k] b[..g,k,n] bias[n] -> c[..g,m,n]") {
        internal = true;
        choice("activation", activation_names());
        const DimExpr is_transposed = stride(b, 1) == 1 && stride(b, 0) != 1 && stride(bias) == 1;
        const DimExpr is_wide = d.n >= tile_vectors * lanes;
        const DimExpr has_pairs_and_bias = has_pairs_along_k() && stride(bias) == 1;
        add(amx_panels(has_pairs_and_bias && fills_matrix_tiles()));
        add(amx(has_pairs_and_bias && fills_matrix_tiles()));
        add(vnni(has_pairs_and_bias && d.m >= tile_rows && is_wide));
        add(narrow_t(is_transposed && d.m >= 8 && d.k >= 8 && d.n >= lanes && leaves_one_vector()));
        add(packed_t(is_transposed && d.m >= tile_rows && is_wide && d.k >= 8 &&
                     packs_wide_panels()));
        add(half_t(is_transposed && d.m >= 8 && d.n >= lanes / 2 && d.k >= 8 && lanes >= 4));
        add(dot_row(stride(b, 1) == 1 && stride(a) == 1 && stride(bias) == 1 && d.m < 8 &&
                    d.n >= 4));
        add(any());
        add_variants_for_gpus();
        samples = {"g=1 m=1 k=1 n=1",
                   "g=2 m=5 k=7 n=3 activation=relu",
                   "g=1 m=9 k=300 n=33 transpose_b=1 activation=gelu",
                   "g=1 m=70 k=130 n=53 transpose_b=1 activation=gelu_tanh",
                   "g=1 m=13 k=20 n=5 activation=sigmoid",
                   "g=1 m=13 k=20 n=5 transpose_b=1 activation=tanh",
                   "g=1 m=17 k=9 n=10 transpose_b=1 activation=silu",
                   "g=1 m=3 k=70 n=9 transpose_b=1 activation=sigmoid",
                   "g=1 m=179 k=8 n=65 transpose_b=1",
                   "g=1 m=1031 k=5 n=516 activation=relu",
                   "g=1 m=67 k=1030 n=132 transpose_b=1 activation=gelu"};
        bench = {"g=1 m=128 k=768 n=3072 transpose_b=1 activation=gelu",
                 "g=1 m=128 k=3072 n=768 transpose_b=1", "g=1 m=1 k=2048 n=1000 transpose_b=1"};
    }
    Func bias = input("bias");
    Func c = output("c");
    Expr activation = derived("activation", "activation");

    void define_output() override {
        // Strict: LLVM assumes that other sums are never NaN, and drops tests for it.
        const Expr z = strict_float(sum(j, i, g) + bias(j));
        epilogue = Func("finished");
        Expr y;
        for (int k = int(std::size(activations)); k-- > 0;) {
            const Expr value = activation_functions[k](z);
            y = y.defined() ? select(activation == k, value, y) : value;
            epilogue_cases.insert(epilogue_cases.begin(), activation == k);
        }
        epilogue(j, i, g) = y;
        c(j, i, g) = epilogue(j, i, g);
    }
    void reference(Problem &p) const override {
        Array &y = p("c");
        Array &abs_sum = p.abs_sum["c"];
        reference_sums(p, y, abs_sum);
        // An activation passes on the sum's rounding, times its slope, and rounds its own value.
        constexpr double steepest_slope = 1.13;  // gelu's
        const Array &bias_row = p("bias");
        const auto activate = activations[p["activation"]].value;
        for (size_t e = 0; e < y.v.size(); e++) {
            const double b = bias_row.v[e % bias_row.v.size()];
            y.v[e] = activate(y.v[e] + b);
            abs_sum.v[e] = steepest_slope * (abs_sum.v[e] + std::fabs(b)) + std::fabs(y.v[e]);
        }
    }
};

}  // namespace

HALYARD_OPS {
    ops.add<DenseKernel>();
}

}  // namespace halyard
