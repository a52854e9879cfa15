// Quantisation: reals as 8-bit integers, q = round(x / scale) + zero_point, and products of such
// integers. The products are composed of integer_product: primitives/composites/low_precision.cpp.
#include <algorithm>
#include <cmath>

#include "kernels/elementwise/elementwise.h"
#include "kernels/layout/composite.h"

namespace halyard {
namespace {

void add_dtype(Op &op, const char *value) {
    op.attrs.push_back({"dtype", AttrKind::dtype, value, {}, {}, true});
}

double saturated(double v, DType t) {
    return std::isnan(v)    ? 0
           : t == DType::u8 ? std::clamp(v, 0.0, 255.0)
                            : std::clamp(v, -128.0, 127.0);
}
// Computes x / scale in f32, as the kernels do: how a tie is rounded is part of the result. The
// integers are exact in double.
double quantized(double x, double scale, double zero_point, DType t) {
    return saturated(std::nearbyint(double(float(x) / float(scale))) + zero_point, t);
}

struct QuantizeKernel : Elementwise {
    QuantizeKernel()
        : Elementwise("quantize_kernel", "x:T[*] scale:T[*] zero_point:i32[*] -> y:U[*]") {
        internal = true;
        add_dtype(*this, "i8");
        let("scale_least", "1");
        dtypes = {"f32,i8", "f32,u8"};
        contract = {Contract::elementwise, 0};
    }
    Func x = input("x"), scale = input("scale"), zero_point = input("zero_point");
    Func y = output("y");
    void algorithm() override {
        using Halide::_;
        y(_) = strict_float(math::call("round", {strict_float(x(_) / scale(_))}) +
                            math::real(zero_point(_)));
    }
    void reference(Problem &p) const override {
        each(p, [&](const double *in, double *o) {
            o[0] = quantized(in[0], in[1], in[2], static_cast<DType>(p["dtype"]));
        });
    }
};

struct DequantizeKernel : Elementwise {
    DequantizeKernel()
        : Elementwise("dequantize_kernel", "x:U[*] scale:f32[*] zero_point:i32[*] -> y:f32[*]") {
        internal = true;
        dtypes = {"i8", "u8"};
        contract = {Contract::elementwise, 0.5};
    }
    Func x = input("x"), scale = input("scale"), zero_point = input("zero_point");
    Func y = output("y");
    void algorithm() override {
        using Halide::_;
        y(_) = (x(_) - math::real(zero_point(_))) * scale(_);
    }
    void reference(Problem &p) const override {
        each(p, [&](const double *in, double *o) { o[0] = (in[0] - in[2]) * in[1]; });
    }
};

// y = round((x - excess) scale + bias) + zero_point. x has the sums of an integer product, and
// `excess` what the zero points of its operands add to each sum.
struct RequantizeKernel : Elementwise {
    RequantizeKernel()
        : Elementwise(
              "requantize_kernel",
              "x:i32[*] excess:i32[*] scale:f32[*] bias:f32[*] zero_point:i32[*] -> y:U[*]") {
        internal = true;
        add_dtype(*this, "i8");
        dtypes = {"i8", "u8"};
        contract = {Contract::elementwise, 0};
    }
    Func x = input("x"), excess = input("excess"), scale = input("scale"), bias = input("bias"),
         zero_point = input("zero_point");
    Func y = output("y");
    void algorithm() override {
        using Halide::_;
        // Strict, so that the product is rounded also on machines that would fuse it with the sum.
        const Expr product = strict_float(math::real(x(_) - excess(_)) * scale(_));
        y(_) = strict_float(math::call("round", {strict_float(product + bias(_))}) +
                            math::real(zero_point(_)));
    }
    void reference(Problem &p) const override {
        each(p, [&](const double *in, double *o) {
            const volatile float product = float(in[0] - in[1]) * float(in[2]);
            o[0] = saturated(std::nearbyint(double(product + float(in[3]))) + in[4],
                             static_cast<DType>(p["dtype"]));
        });
    }
};

struct Quantize : Composite {
    Quantize()
        : Composite("quantize", "x:T[n,c] scale:T[c] zero_point:i32[c] -> y:U[n,c]",
                    "y = round(x / scale) + zero_point, saturated, in dtype i8 or u8; ties go to "
                    "even, NaN to 0. x has any shape; scale and zero_point are "
                    "one number each, or one per place along axis") {
        attrs.push_back({"axis", AttrKind::integer, "-1", {}, {}, true});
        add_dtype(*this, "i8");
        let("scale_least", "1");
        dtypes = {"f32,i8", "f32,u8"};
        samples = {"n=3 c=7", "n=5 c=1"};
    }
    void reference(Problem &p) const override {
        Array y(p("x").shape);
        for (size_t e = 0; e < y.v.size(); e++) {
            const auto c = int64_t(e) % p["c"];
            y.v[e] = quantized(p("x").v[e], p("scale")(c), p("zero_point")(c),
                               static_cast<DType>(p["dtype"]));
        }
        p.tensors["y"] = y;
    }
};

struct Dequantize : Composite {
    Dequantize()
        : Composite("dequantize", "x:U[n,c] scale:f32[c] zero_point:i32[c] -> y:f32[n,c]",
                    "y = (x - zero_point) scale. x has any shape; scale and zero_point are one "
                    "number each, or one per place along axis") {
        attrs.push_back({"axis", AttrKind::integer, "-1", {}, {}, true});
        dtypes = {"i8", "u8"};
        contract = {Contract::elementwise, 0.5};
        samples = {"n=3 c=7", "n=5 c=1"};
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
        attrs.push_back({"a_zero_point", AttrKind::integer, "0", {}, {}, true});
        attrs.push_back({"b_zero_point", AttrKind::integer, "0", {}, {}, true});
        dtypes = {"i32"};
        samples = {"g=1 m=1 k=1 n=1", "g=2 m=9 k=13 n=5 a_zero_point=128 b_zero_point=-3",
                   "g=1 m=17 k=24 n=40 a_zero_point=7"};
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

// What quant_dense and quant_conv2d have in common: y = (sum of (x - x_zero_point) weight) x_scale
// weight_scale + bias, quantised.
struct QuantizedProduct : Composite {
    QuantizedProduct(const std::string &name, const std::string &signature,
                     const std::string &formula)
        : Composite(name, signature, formula) {
        attrs.push_back({"x_scale", AttrKind::real, "1", {}, {}});
        attr("x_zero_point", 0);
        attrs.push_back({"y_scale", AttrKind::real, "1", {}, {}});
        attr("y_zero_point", 0);
        attrs.push_back({"dtype", AttrKind::dtype, "u8", {}, {}});
        dtypes = {"u8", "i8", "f32"};
        contract = {Contract::products, 8};
    }
    // As the kernel computes it: in f32, the scales multiplied first.
    static double result(const Problem &p, double sum, int64_t channel) {
        const double y_scale = p.real("y_scale");
        const double product = p.real("x_scale") * p.tensors.at("weight_scale")(channel);
        const double bias = p.tensors.at("bias")(channel);
        const auto to = static_cast<DType>(p["dtype"]);
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

HALYARD_OPS {
    ops.add<QuantizeKernel>();
    ops.add<DequantizeKernel>();
    ops.add<RequantizeKernel>();
    ops.add<Quantize>();
    ops.add<Dequantize>();
    ops.add<MatmulInteger>();
    ops.add<QuantDense>();
    ops.add<QuantConv2d>();
}

}  // namespace halyard
