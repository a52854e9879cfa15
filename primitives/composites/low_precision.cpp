// Compositions of quantised numbers (records: kernels/contraction/quantize.cpp).
#include <cmath>

#include "primitives/composites/argument_checks.h"
#include "primitives/composites/composite.h"
#include "primitives/composites/composition.h"
#include "primitives/composites/concat.h"

namespace halyard {
namespace {

void expect_dtype(const Attrs &a, const char *name, const Tensor &t, DType dtype) {
    if (t.dtype() != dtype) {
        throw DTypeError(a.op().name, std::string(name) + " is " + name_of(t.dtype()) +
                                          ", expected " + name_of(dtype));
    }
}
// A scale or zero point beside x: one number, or one per place along axis.
Tensor along_axis(const Attrs &a, const char *name, const Tensor &t, const Tensor &x) {
    if (t.elements() == 1) return reshaped(t, {});
    expect_rank(a, name, t, 1);
    const int axis = normal_axis(a.op().name.c_str(), integer(a, "axis"), x.rank());
    expect_extent(a, name, t.shape()[0], ("x's extent " + std::to_string(axis)).c_str(),
                  x.shape()[axis]);
    Shape s{t.shape()[0]};
    for (int d = axis + 1; d < x.rank(); d++)
        s.push_back(1);
    return reshaped(t, s);
}

Result quantize(Tensors in, const Attrs &a) {
    const auto dtype = (DType)integer(a, "dtype");
    if (dtype != DType::i8 && dtype != DType::u8) {
        throw AttrError("quantize",
                        std::string("dtype is ") + name_of(dtype) + ", expected i8 or u8");
    }
    expect_dtype(a, "x", in[0], DType::f32);
    expect_dtype(a, "scale", in[1], DType::f32);
    expect_dtype(a, "zero_point", in[2], DType::i32);
    return {run1(
        "quantize_kernel",
        {in[0], along_axis(a, "scale", in[1], in[0]), along_axis(a, "zero_point", in[2], in[0])},
        {{"dtype", dtype}})};
}
Result dequantize(Tensors in, const Attrs &a) {
    if (in[0].dtype() != DType::i8) expect_dtype(a, "x", in[0], DType::u8);
    expect_dtype(a, "scale", in[1], DType::f32);
    expect_dtype(a, "zero_point", in[2], DType::i32);
    return {run1("dequantize_kernel", {in[0], along_axis(a, "scale", in[1], in[0]),
                                       along_axis(a, "zero_point", in[2], in[0])})};
}

// x with zeros behind its `axis`, up to a multiple of 4: what the kernel takes.
Tensor in_fours(const Tensor &x, int axis) {
    const int64_t n = x.size(axis);
    const int64_t more = (4 - n % 4) % 4;
    if (more == 0 || n == 0) return x;
    Ints padding(static_cast<size_t>(-2 * axis), 0);
    padding.back() = more;
    return run1("pad", {x}, {{"padding", padding}});
}
Tensor product(const Tensor &a, const Tensor &b) {
    return run1("integer_product", {in_fours(a, -1), in_fours(b, -2)});
}
Tensor sum(const Tensor &t, int axis) {
    return run1("reduce_sum", {run1("cast", {t}, {{"dtype", DType::i32}})},
                {{"axis", Ints{axis}}, {"keep_dims", true}});
}
Tensor times(const Tensor &t, int64_t by) {
    return run1("mul", {t, Tensor::scalar(double(by), DType::i32)});
}

Result matmul_integer(Tensors in, const Attrs &attrs) {
    const Tensor &a = in[0];
    const Tensor &b = in[1];
    expect_dtype(attrs, "a", a, DType::u8);
    expect_dtype(attrs, "b", b, DType::i8);
    for (int k = 0; k < 2; k++) {
        if (in[size_t(k)].rank() < 2) {
            throw ShapeError("matmul_integer", std::string(k ? "b" : "a") + " has rank " +
                                                   std::to_string(in[size_t(k)].rank()) +
                                                   ", expected at least 2");
        }
    }
    expect_extent(attrs, "b.k", b.size(-2), "a.k", a.size(-1));
    const int64_t of_a = integer(attrs, "a_zero_point");
    const int64_t of_b = integer(attrs, "b_zero_point");
    for (const auto &[name, point, least] :
         {std::tuple{"a_zero_point", of_a, 0}, {"b_zero_point", of_b, -128}}) {
        if (point < least || point > least + 255) {
            throw AttrError("matmul_integer", std::string(name) + " is " + std::to_string(point) +
                                                  ", expected " + std::to_string(least) + " to " +
                                                  std::to_string(least + 255));
        }
    }
    Tensor y = product(a, b);
    if (of_a) y = run1("sub", {y, times(sum(b, -2), of_a)});
    if (of_b) y = run1("sub", {y, times(sum(a, -1), of_b)});
    if (of_a && of_b)
        y = run1("add", {y, Tensor::scalar(double(a.size(-1) * of_a * of_b), DType::i32)});
    return {y};
}

// Rows of x by rows of weight, with their scales, from [rows, k] and [n, k] to [rows, n].
Tensor quantized_product(const Attrs &a, const Tensor &x, const Tensor &weight,
                         const Tensor &weight_scale, const Tensor &bias) {
    const std::string &op = a.op().name;
    const auto dtype = (DType)integer(a, "dtype");
    if (dtype != DType::i8 && dtype != DType::u8 && dtype != DType::f32)
        throw AttrError(op, std::string("dtype is ") + name_of(dtype) + ", expected i8, u8 or f32");
    const int64_t n = weight.shape()[0];
    const int64_t x_zero_point = integer(a, "x_zero_point");
    const int64_t y_zero_point = integer(a, "y_zero_point");
    const double x_scale = real(a, "x_scale");
    const double y_scale = real(a, "y_scale");
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
    if (std::abs(y_zero_point) > 255) {
        throw AttrError(op, "y_zero_point is " + std::to_string(y_zero_point) +
                                ", expected -255 to 255");
    }
    expect_dtype(a, "weight_scale", weight_scale, DType::f32);
    expect_dtype(a, "bias", bias, DType::f32);
    expect_rank(a, "weight_scale", weight_scale, 1);
    expect_rank(a, "bias", bias, 1);
    expect_extent(a, "weight_scale's extent", weight_scale.shape()[0], "weight's rows", n);
    expect_extent(a, "bias's extent", bias.shape()[0], "weight's rows", n);

    const Tensor sums = product(x, transposed(weight, {1, 0}));
    const Tensor excess = reshaped(times(sum(weight, -1), x_zero_point), {n});
    const auto scaled = [](const Tensor &t, double by) {  // in double, rounded once
        return cast_to(run1("mul", {cast_to(t, DType::f64), Tensor::scalar(by, DType::f64)}),
                       DType::f32);
    };
    if (dtype == DType::f32) {
        const Tensor y = run1("mul", {cast_to(run1("sub", {sums, excess}), DType::f32),
                                      scaled(weight_scale, x_scale)});
        return run1("add", {y, bias});
    }
    return run1("requantize_kernel",
                {sums, excess, scaled(weight_scale, x_scale / y_scale), scaled(bias, 1 / y_scale),
                 Tensor::scalar(double(y_zero_point), DType::i32)},
                {{"dtype", dtype}});
}

Result quant_dense(Tensors in, const Attrs &a) {
    const Tensor &x = in[0];
    const Tensor &weight = in[1];
    expect_dtype(a, "x", x, DType::u8);
    expect_dtype(a, "weight", weight, DType::i8);
    if (x.rank() == 0) throw ShapeError("quant_dense", "x has rank 0, expected at least 1");
    expect_rank(a, "weight", weight, 2);
    expect_extent(a, "x's last extent", x.size(-1), "weight.k", weight.shape()[1]);
    Shape s = x.shape();
    int64_t rows = 1;
    for (int d = 0; d + 1 < s.rank(); d++)
        rows *= s[d];
    s[s.rank() - 1] = weight.shape()[0];
    return {
        reshaped(quantized_product(a, reshaped(x, {rows, x.size(-1)}), weight, in[2], in[3]), s)};
}

// The window of each tap beside each other: [n, oh, ow, u v c].
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

Result quant_conv2d(Tensors in, const Attrs &a) {
    const Tensor &weight = in[1];
    expect_dtype(a, "x", in[0], DType::u8);
    expect_dtype(a, "weight", weight, DType::i8);
    expect_rank(a, "x", in[0], 4);
    expect_rank(a, "weight", weight, 4);
    expect_extent(a, "weight.c", weight.size(1), "x.c", in[0].size(1));
    const int64_t stride = integer(a, "stride");
    const int64_t pad = integer(a, "pad");
    const int64_t u = weight.size(2), v = weight.size(3), o = weight.size(0);
    if (stride < 1) {
        throw AttrError("quant_conv2d",
                        "stride is " + std::to_string(stride) + ", expected 1 or more");
    }
    if (pad < 0 || pad > INT32_MAX / 4) {
        throw AttrError("quant_conv2d", "pad is " + std::to_string(pad) + ", expected 0 to " +
                                            std::to_string(INT32_MAX / 4));
    }
    const Tensor x = pad ? run1("pad", {in[0]},
                                {{"padding", Ints{pad, pad, pad, pad}},
                                 {"value", double(integer(a, "x_zero_point"))}})
                         : in[0];
    for (int d : {2, 3}) {
        if (x.size(d) < weight.size(d) || weight.size(d) == 0) {
            throw ShapeError("quant_conv2d", "weight's extent " + std::to_string(d) + " is " +
                                                 std::to_string(weight.size(d)) +
                                                 ", expected 1 to " + std::to_string(x.size(d)) +
                                                 " as x with its padding");
        }
    }
    const Tensor columns = taps(x, u, v, stride);
    const int64_t rows = columns.size(0) * columns.size(1) * columns.size(2);
    const int64_t k = columns.size(3);
    const Tensor flat = reshaped(transposed(weight, {0, 2, 3, 1}), {o, k});
    const Tensor y = quantized_product(a, reshaped(columns, {rows, k}), flat, in[2], in[3]);
    return {transposed(reshaped(y, {columns.size(0), columns.size(1), columns.size(2), o}),
                       {0, 3, 1, 2})};
}

}  // namespace

Family low_precision_family() {
    static const Family::value_type all[] = {{"quantize", quantize},
                                             {"dequantize", dequantize},
                                             {"matmul_integer", matmul_integer},
                                             {"quant_dense", quant_dense},
                                             {"quant_conv2d", quant_conv2d}};
    return all;
}

}  // namespace halyard
