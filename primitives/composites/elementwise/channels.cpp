// Ops that have one number for each channel, dimension 1 or the last one.
#include "primitives/composites/composite.h"
#include "primitives/operators.h"
#include "primitives/ops/conv2d.h"
#include "primitives/ops/formula.h"

namespace halyard {
namespace {

// The bias has its own name for the channels, because data_format says which dimension of x they
// are.
struct BiasAdd : Composite {
    BiasAdd()
        : Composite("bias_add", "x[*] bias[c] -> y[*]",
                    "y = x + bias, along dimension 1 (NCHW) or the last (NHWC)") {
        choice<F::DataFormat>("data_format");
        dtypes = {"f32", "f16", "bf16", "f64", "i64", "i32", "i8", "u8"};
        contract = {Contract::elementwise, 0.5};
        samples = {"d0=2 d1=3 d2=4 c=3", "d0=2 d1=3 d2=4 c=4 data_format=NHWC"};
    }
    Result compose(const Call &call) const override {
        const Tensor &x = call[0];
        const Tensor &bias = call[1];
        if (x.rank() < 2) {
            throw ShapeError("bias_add",
                             "x has rank " + std::to_string(x.rank()) + ", expected at least 2");
        }
        if (bias.rank() != 1) {
            throw ShapeError("bias_add",
                             "bias has rank " + std::to_string(bias.rank()) + ", expected 1");
        }
        const bool channels_last = call.integer("data_format") == F::DataFormat::NHWC;
        const int c = channels_last ? x.rank() - 1 : 1;
        if (bias.shape()[0] != x.shape()[c]) {
            throw ShapeError("bias_add", "bias.c is " + std::to_string(bias.shape()[0]) +
                                             ", expected " + std::to_string(x.shape()[c]) +
                                             " from x" + x.shape().text());
        }
        Shape s{bias.shape()[0]};
        for (int d = c + 1; d < x.rank(); d++)
            s.push_back(1);
        expect_one_dtype(call.in, {0, 1});
        return {x + reshaped(bias, s)};
    }
    void reference(Problem &p) const override {
        const Array &x = p("x"), &bias = p("bias");
        Array y(x.shape);
        int64_t inner = 1;
        if (p["data_format"] == F::DataFormat::NCHW) {
            for (int d = 2; d < x.shape.rank(); d++)
                inner *= x.shape[d];
        }
        for (int64_t i = 0; i < int64_t(y.v.size()); i++)
            y.v[size_t(i)] = x.v[size_t(i)] + bias.v[size_t(i / inner % bias.shape[0])];
        p.tensors["y"] = y;
    }
};

// prelu has a weight for each channel, or one for all.
struct PRelu : Composite {
    PRelu()
        : Composite("prelu", "x[*] weight[c] -> y[*]",
                    "y = x where x > 0, else weight x; weight has an element per index of x's "
                    "dimension 1, or one") {
        alias = "PReLU";
        dtypes = {"f32", "f16", "bf16", "f64"};
        contract = {Contract::elementwise, 0.5};
        samples = {"d0=2 d1=3 d2=4 c=3", "d0=2 d1=3 d2=5 c=1", "d0=1 d1=17 d2=31 c=17"};
    }
    Result compose(const Call &call) const override {
        const Tensor &x = call[0];
        const Tensor &weight = call[1];
        if (weight.rank() != 1) {
            throw ShapeError("prelu",
                             "weight has rank " + std::to_string(weight.rank()) + ", expected 1");
        }
        const int64_t channels = x.rank() < 2 ? 1 : x.shape()[1];
        const int64_t c = weight.shape()[0];
        if (c != 1 && c != channels) {
            throw ShapeError("prelu", "weight.c is " + std::to_string(c) + ", expected 1 or " +
                                          std::to_string(channels) + " from x" + x.shape().text());
        }
        Shape s;
        if (x.rank() > 0) s.push_back(c);
        for (int d = 2; d < x.rank(); d++)
            s.push_back(1);
        return {kernel::prelu(x, reshaped(weight, s))};
    }
    void reference(Problem &p) const override {
        const Array &x = p("x"), &weight = p("weight");
        Array y(x.shape);
        int64_t inner = 1;
        for (int d = 2; d < x.shape.rank(); d++)
            inner *= x.shape[d];
        for (int64_t i = 0; i < int64_t(y.v.size()); i++) {
            const double v = x.v[size_t(i)];
            const double w = weight.v[size_t(i / inner % weight.shape[0])];
            y.v[size_t(i)] = v > 0 ? v : w * v;
        }
        p.tensors["y"] = y;
    }
};

}  // namespace

HALYARD_COMPOSITES {
    composites.add<BiasAdd>();
    composites.add<PRelu>();
}

}  // namespace halyard
