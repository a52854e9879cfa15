// dense_kernel: a product, a bias and an activation in one pass, for inference. dense is composed
// of it in primitives/composites/contraction.cpp.
#include <algorithm>
#include <cmath>

#include "kernels/contraction/product.h"
#include "kernels/layout/composite.h"

namespace halyard {
namespace {

using Halide::Expr;

struct Activation {
    const char *name;
    Expr (*fn)(const Expr &x);
    double (*reference)(double x);
};
const Activation activations[] = {
    {"none", [](const Expr &x) { return x; }, [](double x) { return x; }},
    {"relu", [](const Expr &x) { return max(x, 0_r); },
     [](double x) { return std::isnan(x) ? x : std::max(x, 0.0); }},
    {"gelu", math::gelu,
     [](double x) { return x == -INFINITY ? 0 : 0.5 * x * std::erfc(-x * M_SQRT1_2); }},
    {"gelu_tanh", math::gelu_tanh,
     [](double x) {
         return x == -INFINITY
                    ? 0
                    : 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
     }},
    {"silu", math::silu, [](double x) { return x == -INFINITY ? 0 : x / (1 + std::exp(-x)); }},
    {"sigmoid", math::sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }},
    {"tanh", [](const Expr &x) { return tanh(x); }, [](double x) { return std::tanh(x); }},
};
std::vector<std::string> activation_names() {
    std::vector<std::string> names;
    for (auto &a : activations)
        names.push_back(a.name);
    return names;
}

struct DenseKernel : Product {
    DenseKernel() : Product("dense_kernel", "a[..g,m,k] b[..g,k,n] bias[n] -> c[..g,m,n]") {
        internal = true;
        choice("activation", activation_names());
        const DimExpr is_transposed = stride(b, 1) == 1 && stride(b, 0) != 1 && stride(bias) == 1;
        const DimExpr is_wide = d.n >= tile_vectors * lanes;
        add(vnni(has_pairs > 0 && stride(a) == 1 && stride(bias) == 1 && d.k % 2 == 0 && d.k >= 2 &&
                 d.m >= tile_rows && is_wide));
        add(narrow_t(is_transposed && d.m >= 8 && d.k >= 8 && d.n >= lanes && leaves_one_vector()));
        add(packed_t(is_transposed && d.m >= tile_rows && is_wide && d.k >= 8));
        add(half_t(is_transposed && d.m >= 8 && d.n >= lanes / 2 && d.k >= 8 && lanes >= 4));
        add(dot_row(stride(b, 1) == 1 && stride(a) == 1 && stride(bias) == 1 && d.m < 8 &&
                    d.n >= 4));
        add(any());
        samples = {"g=1 m=1 k=1 n=1",
                   "g=2 m=5 k=7 n=3 activation=relu",
                   "g=1 m=9 k=300 n=33 transpose_b=1 activation=gelu",
                   "g=1 m=70 k=130 n=53 transpose_b=1 activation=gelu_tanh",
                   "g=1 m=13 k=20 n=5 activation=sigmoid",
                   "g=1 m=13 k=20 n=5 transpose_b=1 activation=tanh",
                   "g=1 m=17 k=9 n=10 transpose_b=1 activation=silu",
                   "g=1 m=3 k=70 n=9 transpose_b=1 activation=sigmoid",
                   "g=1 m=179 k=8 n=65 transpose_b=1"};
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
            const Expr value = activations[k].fn(z);
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
        for (size_t e = 0; e < y.v.size(); e++) {
            const double b = p("bias")(int64_t(e) % p["n"]);
            y.v[e] = activations[p["activation"]].reference(y.v[e] + b);
            // The activation rounds its own value.
            abs_sum.v[e] += std::fabs(b) + std::fabs(y.v[e]);
        }
    }
};

struct Dense : Composite {
    Dense()
        : Composite(
              "dense", "x[*] weight[n,k] bias[n] -> y[*]",
              "y = activation(x weight^T + bias), along the last dimension of x, which is k") {
        choice("activation", activation_names());
        dtypes = {"f32", "f16", "bf16", "f64"};
        contract = {Contract::products, 16};
        samples = {"d0=1 d1=1 d2=1 k=1 n=1", "d0=2 d1=3 d2=9 k=9 n=5",
                   "d0=3 d1=4 d2=17 k=17 n=33 activation=gelu"};
        bench = {"d0=1 d1=8 d2=768 k=768 n=3072 activation=gelu",
                 "d0=8 d1=128 d2=768 k=768 n=3072 activation=gelu"};
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
            y.v[e] = activations[p["activation"]].reference(z);
            size.v[e] = terms + std::fabs(y.v[e]);
        }
        p.tensors["y"] = y;
        p.abs_sum["y"] = size;
    }
};

}  // namespace

HALYARD_OPS {
    ops.add<DenseKernel>();
    ops.add<Dense>();
}

}  // namespace halyard
