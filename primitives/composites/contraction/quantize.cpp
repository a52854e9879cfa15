// Quantised numbers: reals as 8-bit integers, q = round(x / scale) + zero_point, and products of
// them, whose sums of 8-bit products one kernel computes.
#include <cmath>

#include "primitives/composites/argument_checks.h"
#include "primitives/composites/concat.h"
#include "primitives/composites/indexing/indexing.h"
#include "primitives/operators.h"
#include "primitives/ops/cast.h"
#include "primitives/ops/quantize_kernels.h"
#include "primitives/ops/quantized_matmul.h"
#include "primitives/ops/reduce.h"
#include "registry/op/reference_math.h"

namespace halyard {
namespace {

// Returns a scale or zero point in a shape that broadcasts to x: it is one number, or one for each
// index along attribute `axis`.
Tensor along_axis(const Call &call, const char *name, const Tensor &t, const Tensor &x) {
    if (t.elements() == 1) return reshaped(t, {});
    expect_rank(call, name, t, 1);
    const int axis = normal_axis(call.op().c_str(), call.integer("axis"), x.rank());
    expect_extent(call, name, t.shape()[0], ("x's extent " + std::to_string(axis)).c_str(),
                  x.shape()[axis]);
    Shape s{t.shape()[0]};
    for (int d = axis + 1; d < x.rank(); d++)
        s.push_back(1);
    return reshaped(t, s);
}

// Returns x padded with zeros along `axis` to a multiple of 4, which the kernel expects.
Tensor in_fours(const Tensor &x, int axis) {
    const int64_t n = x.size(axis);
    const int64_t more = (4 - n % 4) % 4;
    if (more == 0 || n == 0) return x;
    Ints padding(static_cast<size_t>(-2 * axis), 0);
    padding.back() = more;
    return composite::pad(x, padding);
}
Tensor product(const Tensor &a, const Tensor &b) {
    return kernel::integer_product(in_fours(a, -1), in_fours(b, -2));
}
Tensor sum(const Tensor &t, int axis) {
    return F::reduce_sum(F::cast(t, DType::i32), {axis}, true);
}
Tensor times(const Tensor &t, int64_t by) {
    return t * Tensor::scalar(double(by), DType::i32);
}

// Returns the scaled products of rows of x[rows,k] and rows of weight[n,k]: [rows,n].
Tensor quantized_product(const Call &call, const Tensor &x, const Tensor &weight,
                         const Tensor &weight_scale, const Tensor &bias) {
    const std::string &op = call.op();
    const auto dtype = (DType)call.integer("dtype");
    if (dtype != DType::i8 && dtype != DType::u8 && dtype != DType::f32)
        throw AttrError(op, std::string("dtype is ") + name_of(dtype) + ", expected i8, u8 or f32");
    const int64_t n = weight.shape()[0];
    const int64_t x_zero_point = call.integer("x_zero_point");
    const int64_t y_zero_point = call.integer("y_zero_point");
    const double x_scale = call.real("x_scale");
    const double y_scale = call.real("y_scale");
    for (const auto &[name, scale] : {std::pair{"x_scale", x_scale}, {"y_scale", y_scale}}) {
        if (!(scale > 0) || !std::isfinite(scale)) {
            throw AttrError(op, std::string(name) + " is " + std::to_string(scale) +
                                    ", expected a positive number");
        }
    }
    if (x_zero_point < 0 || x_zero_point > 255) {
        throw AttrError(op,
                        "x_zero_point is " + std::to_string(x_zero_point) + ", expected 0 to 255");
    }
    if (y_zero_point < -255 || y_zero_point > 255) {
        throw AttrError(op, "y_zero_point is " + std::to_string(y_zero_point) +
                                ", expected -255 to 255");
    }
    expect_dtype(call, "weight_scale", weight_scale, DType::f32);
    expect_dtype(call, "bias", bias, DType::f32);
    expect_rank(call, "weight_scale", weight_scale, 1);
    expect_rank(call, "bias", bias, 1);
    expect_extent(call, "weight_scale's extent", weight_scale.shape()[0], "weight's rows", n);
    expect_extent(call, "bias's extent", bias.shape()[0], "weight's rows", n);

    const Tensor sums = product(x, transposed(weight, {1, 0}));
    const Tensor excess = reshaped(times(sum(weight, -1), x_zero_point), {n});
    const auto scaled = [](const Tensor &t, double by) {  // Computed in double and rounded once.
        return cast_to(cast_to(t, DType::f64) * Tensor::scalar(by, DType::f64), DType::f32);
    };
    if (dtype == DType::f32) {
        const Tensor y = cast_to(sums - excess, DType::f32) * scaled(weight_scale, x_scale);
        return y + bias;
    }
    return kernel::requantize(sums, excess, scaled(weight_scale, x_scale / y_scale),
                              scaled(bias, 1 / y_scale),
                              Tensor::scalar(double(y_zero_point), DType::i32), dtype);
}

// Returns the windows of all taps, concatenated along the channels: [n,oh,ow,u*v*c].
Tensor taps(const Tensor &x, int64_t u, int64_t v, int64_t stride) {
    const int64_t oh = (x.size(2) - u) / stride + 1;
    const int64_t ow = (x.size(3) - v) / stride + 1;
    std::vector<Tensor> all;
    for (int64_t i = 0; i < u; i++) {
        for (int64_t j = 0; j < v; j++) {
            const Window w{
                {0, 0, i, j},
                {x.size(0), x.size(1), i + (oh - 1) * stride + 1, j + (ow - 1) * stride + 1},
                {1, 1, stride, stride}};
            all.push_back(transposed(window_of(x, w), {0, 2, 3, 1}));
        }
    }
    return all.size() == 1 ? all[0] : F::concat(all, 3);
}

struct Quantize : Composite {
    Quantize()
        : Composite("quantize", "x:T[n,c] scale:T[c] zero_point:i32[c] -> y:U[n,c]",
                    "y = round(x / scale) + zero_point, saturated, in dtype i8 or u8; ties go to "
                    "even, NaN to 0. x has any shape; scale and zero_point are "
                    "one number each, or one per place along axis") {
        at_call("axis", AttrKind::integer, "-1");
        at_call("dtype", AttrKind::dtype, "i8");
        let("scale_least", "1");
        dtypes = {"f32,i8", "f32,u8"};
        samples = {"n=3 c=7", "n=5 c=1"};
    }
    Result compose(const Call &call) const override {
        const auto dtype = (DType)call.integer("dtype");
        if (dtype != DType::i8 && dtype != DType::u8) {
            throw AttrError("quantize",
                            std::string("dtype is ") + name_of(dtype) + ", expected i8 or u8");
        }
        expect_dtype(call, "x", call[0], DType::f32);
        expect_dtype(call, "scale", call[1], DType::f32);
        expect_dtype(call, "zero_point", call[2], DType::i32);
        return {kernel::quantize(call[0], along_axis(call, "scale", call[1], call[0]),
                                 along_axis(call, "zero_point", call[2], call[0]), dtype)};
    }
    void reference(Problem &p) const override {
        Array y(p("x").shape);
        for (size_t e = 0; e < y.v.size(); e++) {
            const auto c = int64_t(e) % p["c"];
            y.v[e] = quantized(p("x").v[e], p("scale")(c), p("zero_point")(c), (DType)p["dtype"]);
        }
        p.tensors["y"] = y;
    }
};

struct Dequantize : Composite {
    Dequantize()
        : Composite("dequantize", "x:U[n,c] scale:f32[c] zero_point:i32[c] -> y:f32[n,c]",
                    "y = (x - zero_point) scale. x has any shape; scale and zero_point are one "
                    "number each, or one per place along axis") {
        at_call("axis", AttrKind::integer, "-1");
        dtypes = {"i8", "u8"};
        contract = {Contract::elementwise, 0.5};
        samples = {"n=3 c=7", "n=5 c=1"};
    }
    Result compose(const Call &call) const override {
        if (call[0].dtype() != DType::i8) expect_dtype(call, "x", call[0], DType::u8);
        expect_dtype(call, "scale", call[1], DType::f32);
        expect_dtype(call, "zero_point", call[2], DType::i32);
        return {kernel::dequantize(call[0], along_axis(call, "scale", call[1], call[0]),
                                   along_axis(call, "zero_point", call[2], call[0]))};
    }
    void reference(Problem &p) const override {
        Array y(p("x").shape);
        for (size_t e = 0; e < y.v.size(); e++) {
            const auto c = int64_t(e) % p["c"];
            y.v[e] = (p("x").v[e] - p("zero_point")(c)) * p("scale")(c);
        }
        p.tensors["y"] = y;
    }
};

struct MatmulInteger : Composite {
    MatmulInteger()
        : Composite("matmul_integer", "a:u8[..g,m,k] b:i8[..g,k,n] -> y:i32[..g,m,n]",
                    "y = (a - a_zero_point) (b - b_zero_point), in 32 bits, exact") {
        at_call("a_zero_point", AttrKind::integer, "0");
        at_call("b_zero_point", AttrKind::integer, "0");
        dtypes = {"i32"};
        samples = {"g=1 m=1 k=1 n=1", "g=2 m=9 k=13 n=5 a_zero_point=128 b_zero_point=-3",
                   "g=1 m=17 k=24 n=40 a_zero_point=7"};
    }
    Result compose(const Call &call) const override {
        const Tensor &a = call[0];
        const Tensor &b = call[1];
        expect_dtype(call, "a", a, DType::u8);
        expect_dtype(call, "b", b, DType::i8);
        for (int k = 0; k < 2; k++) {
            if (call[size_t(k)].rank() < 2) {
                throw ShapeError("matmul_integer", std::string(k ? "b" : "a") + " has rank " +
                                                       std::to_string(call[size_t(k)].rank()) +
                                                       ", expected at least 2");
            }
        }
        expect_extent(call, "b.k", b.size(-2), "a.k", a.size(-1));
        const int64_t of_a = call.integer("a_zero_point");
        const int64_t of_b = call.integer("b_zero_point");
        for (const auto &[name, point, least] :
             {std::tuple{"a_zero_point", of_a, 0}, {"b_zero_point", of_b, -128}}) {
            if (point < least || point > least + 255) {
                throw AttrError("matmul_integer",
                                std::string(name) + " is " + std::to_string(point) + ", expected " +
                                    std::to_string(least) + " to " + std::to_string(least + 255));
            }
        }
        Tensor y = product(a, b);
        if (of_a) y = y - times(sum(b, -2), of_a);
        if (of_b) y = y - times(sum(a, -1), of_b);
        if (of_a && of_b) y = y + Tensor::scalar(double(a.size(-1) * of_a * of_b), DType::i32);
        return {y};
    }
    void reference(Problem &p) const override {
        Array y({p["g"], p["m"], p["n"]});
        for (int64_t h = 0; h < p["g"]; h++) {
            for (int64_t i = 0; i < p["m"]; i++) {
                for (int64_t j = 0; j < p["n"]; j++) {
                    for (int64_t t = 0; t < p["k"]; t++) {
                        y(h, i, j) += (p("a")(h, i, t) - double(p["a_zero_point"])) *
                                      (p("b")(h, t, j) - double(p["b_zero_point"]));
                    }
                }
            }
        }
        p.tensors["y"] = y;
    }
};

// The base of quant_dense and quant_conv2d: y = (sum of (x - x_zero_point) weight) x_scale
// weight_scale + bias, quantised.
struct QuantizedProduct : Composite {
    QuantizedProduct(const std::string &name, const std::string &signature,
                     const std::string &formula)
        : Composite(name, signature, formula) {
        real("x_scale", "1");
        attr("x_zero_point", 0);
        real("y_scale", "1");
        attr("y_zero_point", 0);
        attr("dtype", AttrKind::dtype, "u8");
        dtypes = {"u8", "i8", "f32"};
        contract = {Contract::products, 8};
    }
    // Computes in f32 and multiplies the scales first, as the kernel does.
    static double result(const Problem &p, double sum, int64_t channel) {
        const double y_scale = p.real("y_scale");
        const double product = p.real("x_scale") * p.tensors.at("weight_scale")(channel);
        const double bias = p.tensors.at("bias")(channel);
        const auto to = (DType)p["dtype"];
        if (to == DType::f32) return sum * product + bias;
        const volatile float scaled = float(sum) * float(product / y_scale);
        return saturated(
            std::nearbyint(double(scaled + float(bias / y_scale))) + double(p["y_zero_point"]), to);
    }
};

struct QuantDense : QuantizedProduct {
    QuantDense()
        : QuantizedProduct("quant_dense",
                           "x:u8[m,k] weight:i8[n,k] weight_scale:f32[n] bias:f32[n] -> y:U[m,n]",
                           "y = (x - x_zero_point) weight^T x_scale weight_scale + bias, in f32 or "
                           "as round(y / y_scale) + y_zero_point in dtype") {
        samples = {"m=1 k=1 n=1 x_scale=0.1",
                   "m=9 k=20 n=35 x_scale=0.02 x_zero_point=3 y_scale=0.5 y_zero_point=10",
                   "m=5 k=13 n=7 x_scale=0.05 x_zero_point=128 y_scale=2"};
    }
    Result compose(const Call &call) const override {
        const Tensor &x = call[0];
        const Tensor &weight = call[1];
        expect_dtype(call, "x", x, DType::u8);
        expect_dtype(call, "weight", weight, DType::i8);
        if (x.rank() == 0) throw ShapeError("quant_dense", "x has rank 0, expected at least 1");
        expect_rank(call, "weight", weight, 2);
        expect_extent(call, "x's last extent", x.size(-1), "weight.k", weight.shape()[1]);
        Shape s = x.shape();
        int64_t rows = 1;
        for (int d = 0; d + 1 < s.rank(); d++)
            rows *= s[d];
        s[s.rank() - 1] = weight.shape()[0];
        return {reshaped(
            quantized_product(call, reshaped(x, {rows, x.size(-1)}), weight, call[2], call[3]), s)};
    }
    void reference(Problem &p) const override {
        Array y({p["m"], p["n"]});
        Array size = y;
        for (int64_t i = 0; i < p["m"]; i++) {
            for (int64_t j = 0; j < p["n"]; j++) {
                double sum = 0;
                for (int64_t t = 0; t < p["k"]; t++)
                    sum += (p("x")(i, t) - double(p["x_zero_point"])) * p("weight")(j, t);
                y(i, j) = result(p, sum, j);
                size(i, j) = std::fabs(sum * p.real("x_scale") * p("weight_scale")(j)) +
                             std::fabs(p("bias")(j));
            }
        }
        p.tensors["y"] = y;
        p.abs_sum["y"] = size;
    }
};

struct QuantConv2d : QuantizedProduct {
    QuantConv2d()
        : QuantizedProduct("quant_conv2d",
                           "x:u8[n,c,h,w] weight:i8[o,c,u,v] weight_scale:f32[o] bias:f32[o] -> "
                           "y:U[n,o,(h+2*pad-u)/stride+1,(w+2*pad-v)/stride+1]",
                           "conv2d of x - x_zero_point with weight, scaled and quantised as "
                           "quant_dense does; x is padded with x_zero_point") {
        attr("stride", 1);
        attr("pad", 0);
        samples = {
            "n=1 c=1 h=1 w=1 o=1 u=1 v=1 x_scale=0.1",
            "n=2 c=3 h=7 w=5 o=5 u=3 v=3 pad=1 x_scale=0.02 x_zero_point=4 y_scale=0.5",
            "n=1 c=8 h=9 w=8 o=4 u=3 v=2 stride=2 x_scale=0.02 x_zero_point=2 y_zero_point=20"};
    }
    Result compose(const Call &call) const override {
        const Tensor &weight = call[1];
        expect_dtype(call, "x", call[0], DType::u8);
        expect_dtype(call, "weight", weight, DType::i8);
        expect_rank(call, "x", call[0], 4);
        expect_rank(call, "weight", weight, 4);
        expect_extent(call, "weight.c", weight.size(1), "x.c", call[0].size(1));
        const int64_t stride = call.integer("stride");
        const int64_t pad = call.integer("pad");
        const int64_t u = weight.size(2), v = weight.size(3), o = weight.size(0);
        if (stride < 1) {
            throw AttrError("quant_conv2d",
                            "stride is " + std::to_string(stride) + ", expected 1 or more");
        }
        if (pad < 0 || pad > INT32_MAX / 4) {
            throw AttrError("quant_conv2d", "pad is " + std::to_string(pad) + ", expected 0 to " +
                                                std::to_string(INT32_MAX / 4));
        }
        const Tensor x = pad ? composite::pad(call[0], {pad, pad, pad, pad},
                                              double(call.integer("x_zero_point")))
                             : call[0];
        for (int d : {2, 3}) {
            if (x.size(d) < weight.size(d) || weight.size(d) == 0) {
                throw ShapeError("quant_conv2d",
                                 "weight's extent " + std::to_string(d) + " is " +
                                     std::to_string(weight.size(d)) + ", expected 1 to " +
                                     std::to_string(x.size(d)) + " as x with its padding");
            }
        }
        const Tensor columns = taps(x, u, v, stride);
        const int64_t rows = columns.size(0) * columns.size(1) * columns.size(2);
        const int64_t k = columns.size(3);
        const Tensor flat = reshaped(transposed(weight, {0, 2, 3, 1}), {o, k});
        const Tensor y = quantized_product(call, reshaped(columns, {rows, k}), flat, call[2],
                                           call[3]);
        return {transposed(reshaped(y, {columns.size(0), columns.size(1), columns.size(2), o}),
                           {0, 3, 1, 2})};
    }
    void reference(Problem &p) const override {
        const int64_t stride = p["stride"];
        const int64_t pad = p["pad"];
        Array y({p["n"], p["o"], (p["h"] + 2 * pad - p["u"]) / stride + 1,
                 (p["w"] + 2 * pad - p["v"]) / stride + 1});
        Array size = y;
        const auto sum_at = [&](int64_t n, int64_t o, int64_t i, int64_t j) {
            double sum = 0;
            for (int64_t c = 0; c < p["c"]; c++) {
                for (int64_t u = 0; u < p["u"]; u++) {
                    for (int64_t v = 0; v < p["v"]; v++) {
                        const int64_t a = i * stride + u - pad;
                        const int64_t b = j * stride + v - pad;
                        const bool inside = a >= 0 && b >= 0 && a < p["h"] && b < p["w"];
                        sum += inside ? (p("x")(n, c, a, b) - double(p["x_zero_point"])) *
                                            p("weight")(o, c, u, v)
                                      : 0;
                    }
                }
            }
            return sum;
        };
        for (int64_t n = 0; n < y.shape[0]; n++) {
            for (int64_t o = 0; o < y.shape[1]; o++) {
                for (int64_t i = 0; i < y.shape[2]; i++) {
                    for (int64_t j = 0; j < y.shape[3]; j++) {
                        const double sum = sum_at(n, o, i, j);
                        y(n, o, i, j) = result(p, sum, o);
                        size(n, o, i,
                             j) = std::fabs(sum * p.real("x_scale") * p("weight_scale")(o)) +
                                  std::fabs(p("bias")(o));
                    }
                }
            }
        }
        p.tensors["y"] = y;
        p.abs_sum["y"] = size;
    }
};

}  // namespace

HALYARD_COMPOSITES {
    composites.add<Quantize>();
    composites.add<Dequantize>();
    composites.add<MatmulInteger>();
    composites.add<QuantDense>();
    composites.add<QuantConv2d>();
}

}  // namespace halyard
