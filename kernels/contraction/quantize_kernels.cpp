// The kernels of quantisation: reals as 8-bit integers, q = round(x / scale) + zero_point. The ops
// are composed in primitives/composites/contraction/quantize.cpp.
#include <algorithm>
#include <cmath>

#include "dsl/reference_math.h"
#include "kernels/elementwise/elementwise.h"

namespace halyard {
namespace {

struct QuantizeKernel : Elementwise {
    QuantizeKernel()
        : Elementwise("quantize_kernel", "x:T[*] scale:T[*] zero_point:i32[*] -> y:U[*]") {
        internal = true;
        at_call("dtype", AttrKind::dtype, "i8");
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
        at_call("dtype", AttrKind::dtype, "i8");
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

}  // namespace

HALYARD_OPS {
    ops.add<QuantizeKernel>();
    ops.add<DequantizeKernel>();
    ops.add<RequantizeKernel>();
}

}  // namespace halyard
