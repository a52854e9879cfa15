// Tests quantised ops: edges, channels, and invalid arguments. Their checks compare them with
// references.
#include <gtest/gtest.h>

#include <cmath>

#include "primitives/ops/quantize.h"
#include "primitives/ops/shapes.h"
#include "tests/registry/expect_error.h"

namespace halyard {
namespace {

Tensor floats(std::initializer_list<float> v) {
    return Tensor::from(std::vector<float>(v), {int64_t(v.size())});
}
Tensor ints(std::initializer_list<int32_t> v) {
    return Tensor::from(std::vector<int32_t>(v), {int64_t(v.size())});
}
template<class T> std::vector<T> ramp(int64_t n, int64_t step, int64_t from) {
    std::vector<T> v;
    for (int64_t i = 0; i < n; i++)
        v.push_back((T)(i * step + from));
    return v;
}

TEST(LowPrecision, QuantizeRoundsTiesToEvenAndSaturates) {
    const Tensor x = floats({-0.5f, 0.5f, 1.5f, 2.5f, 1e9f, -1e9f, NAN, INFINITY});
    EXPECT_EQ(F::quantize(x, floats({1}), ints({0}), -1, DType::i8).to_vector<int8_t>(),
              (std::vector<int8_t>{0, 0, 2, 2, 127, -128, 0, 127}));
    EXPECT_EQ(F::quantize(x, floats({1}), ints({10}), -1, DType::u8).to_vector<uint8_t>(),
              (std::vector<uint8_t>{10, 10, 12, 12, 255, 0, 0, 255}));
}

TEST(LowPrecision, TakesScalesAlongAnAxis) {
    const Tensor x = Tensor::from(std::vector<float>{1, 2, 3, 4}, {2, 2});
    const Tensor scale = floats({0.5f, 0.25f});
    const Tensor zero = ints({0, 1});
    const Tensor q = F::quantize(x, scale, zero, 0, DType::i8);
    EXPECT_EQ(q.to_vector<int8_t>(), (std::vector<int8_t>{2, 4, 13, 17}));
    EXPECT_EQ(F::dequantize(q, scale, zero, 0).to_vector<float>(), x.to_vector<float>());
}

// Uses the largest possible products, more than a multiple of four of them, and sums that exceed 16
// bits.
TEST(LowPrecision, ProductsAreExact) {
    for (const int64_t k : {3, 64, 4099}) {
        const Tensor a = Tensor::full({9, k}, 255, DType::u8);
        const Tensor b = Tensor::full({k, 33}, -128, DType::i8);
        for (const int32_t v : F::matmul_integer(a, b).to_vector<int32_t>())
            ASSERT_EQ(v, -255 * 128 * k);
        for (const int32_t v : F::matmul_integer(a, b, 255, 0).to_vector<int32_t>())
            ASSERT_EQ(v, 0);
        for (const int32_t v : F::matmul_integer(a, b, 1, 127).to_vector<int32_t>())
            ASSERT_EQ(v, -254 * 255 * k);
    }
}

TEST(LowPrecision, ConvolutionOfOneTapIsADenseLayer) {
    const Tensor x = Tensor::from(ramp<uint8_t>(2 * 6 * 3 * 4, 29, 1), {2, 6, 3, 4});
    const Tensor w = Tensor::from(ramp<int8_t>(30, 11, -100), {5, 6});
    const Tensor scale = floats({0.1f, 0.2f, 0.3f, 0.4f, 0.5f});
    const Tensor bias = floats({-3, 2, 1, 0, 5});
    const Tensor y = ops::QuantConv2d(0.5, 7, 40.0, 3, DType::u8, 1,
                                      0)(x, F::reshape(w, {5, 6, 1, 1}), scale, bias);
    const Tensor rows = ops::QuantDense(0.5, 7, 40.0, 3, DType::u8)(
        F::reshape(F::transpose(x, {0, 2, 3, 1}), {24, 6}), w, scale, bias);
    EXPECT_EQ(F::reshape(F::transpose(y, {0, 2, 3, 1}), {24, 5}).to_vector<uint8_t>(),
              rows.to_vector<uint8_t>());
}

TEST(LowPrecision, RejectsInvalidArguments) {
    const Tensor x = Tensor::ones({2, 3});
    const Tensor q = Tensor::ones({2, 3}, DType::u8);
    const Tensor w = Tensor::ones({4, 3}, DType::i8);
    expect_error<AttrError>("[quantize] dtype is i32, expected i8 or u8",
                            [&] { F::quantize(x, floats({1}), ints({0}), -1, DType::i32); });
    expect_error<ShapeError>("[quantize] scale is 2, expected 3 as x's extent 1", [&] {
        F::quantize(x, floats({1, 2}), ints({0}), -1, DType::i8);
    });
    expect_error<DTypeError>("[dequantize] x is f32, expected u8",
                             [&] { F::dequantize(x, floats({1}), ints({0})); });
    expect_error<DTypeError>("[matmul_integer] b is u8, expected i8",
                             [&] { F::matmul_integer(q, q); });
    expect_error<ShapeError>("[matmul_integer] b.k is 4, expected 3 as a.k",
                             [&] { F::matmul_integer(q, w); });
    expect_error<AttrError>("[matmul_integer] a_zero_point is 256, expected 0 to 255", [&] {
        F::matmul_integer(q, F::transpose(w, {1, 0}), 256);
    });
    expect_error<AttrError>("[quant_dense] y_scale is 0.000000, expected a positive number", [&] {
        ops::QuantDense(1.0, 0, 0.0)(q, w, floats({1, 1, 1, 1}), floats({0, 0, 0, 0}));
    });
    expect_error<AttrError>(
        "[quant_dense] y_zero_point is -9223372036854775808, expected -255 to 255", [&] {
            const ops::QuantDense dense(1.0, 0, 1.0, INT64_MIN);
            dense(q, w, floats({1, 1, 1, 1}), floats({0, 0, 0, 0}));
        });
    expect_error<ShapeError>("[quant_dense] bias's extent is 3, expected 4 as weight's rows", [&] {
        ops::QuantDense(1.0)(q, w, floats({1, 1, 1, 1}), floats({0, 0, 0}));
    });
}

}  // namespace
}  // namespace halyard
