// Tests that operators of tensors give the results of F's functions, and that indexing gives views
// with gradients.
#include "primitives/operators.h"

#include "primitives/ops/binary.h"
#include "primitives/ops/loss_terms.h"
#include "primitives/ops/softmax.h"
#include "primitives/parameter.h"
#include "tests/primitives/gradient_check.h"
#include "tests/registry/expect_error.h"

namespace halyard {
namespace {

using Doubles = std::vector<double>;
using Tensors = std::vector<Tensor>;

void expect_tensor(const Tensor &t, DType d, const Doubles &v) {
    EXPECT_STREQ(name_of(t.dtype()), name_of(d));
    EXPECT_EQ(t.to_vector<double>(), v);
}

TEST(Operators, Arithmetic) {
    const Tensor x = Tensor::from<float>({1, 2, 4});
    const Tensor y = Tensor::from<float>({3, 5, 8});
    expect_tensor(x + y, DType::f32, {4, 7, 12});
    expect_tensor(x - y, DType::f32, {-2, -3, -4});
    expect_tensor(x * y, DType::f32, {3, 10, 32});
    expect_tensor(y / x, DType::f32, {3, 2.5, 2});
    expect_tensor(-x, DType::f32, {-1, -2, -4});
    expect_tensor(x.reshape({3, 1}) + y, DType::f32, {4, 6, 9, 5, 7, 10, 7, 9, 12});
}

TEST(Operators, NumbersOnEitherSide) {
    const Tensor x = Tensor::from<float>({1, 2, 4});
    expect_tensor(x + 1, DType::f32, {2, 3, 5});
    expect_tensor(1 - x, DType::f32, {0, -1, -3});
    expect_tensor(0.5 * x, DType::f32, {0.5, 1, 2});
    expect_tensor(1 / x, DType::f32, {1, 0.5, 0.25});
    expect_tensor(x * int64_t{3}, DType::f32, {3, 6, 12});
    expect_tensor(x * size_t{3} - 1.5f, DType::f32, {1.5, 4.5, 10.5});
}

TEST(Operators, PromoteLikeFunctions) {
    const Tensor whole = Tensor::from<int32_t>({1, 3});
    expect_tensor(whole + 2, DType::i32, {3, 5});
    expect_tensor(whole + 0.5, DType::f32, {1.5, 3.5});
    expect_tensor(whole / 2, DType::f32, {0.5, 1.5});
    expect_tensor(whole * Tensor::from<double>({0.5, 2}), DType::f64, {0.5, 6});
    expect_tensor(2 * Tensor::ones({1}, DType::bf16), DType::bf16, {2});
}

TEST(Operators, ComparisonsGiveBools) {
    const Tensor x = Tensor::from<float>({1, 2, 3});
    const Tensor y = Tensor::from<float>({3, 2, 1});
    expect_tensor(x < y, DType::boolean, {1, 0, 0});
    expect_tensor(x <= y, DType::boolean, {1, 1, 0});
    expect_tensor(x > y, DType::boolean, {0, 0, 1});
    expect_tensor(x >= y, DType::boolean, {0, 1, 1});
    expect_tensor(x == y, DType::boolean, {0, 1, 0});
    expect_tensor(x != y, DType::boolean, {1, 0, 1});
    expect_tensor(x < 2, DType::boolean, {1, 0, 0});
    expect_tensor(2 < x, DType::boolean, {0, 0, 1});
    expect_tensor(x == 2, DType::boolean, {0, 1, 0});
    expect_tensor(2 != x, DType::boolean, {1, 0, 1});
}

TEST(Operators, TakeParameters) {
    const Parameter weight(Tensor::from<float>({2, 3}));
    expect_tensor(weight * weight + 1, DType::f32, {5, 10});
    expect_tensor(-weight, DType::f32, {-2, -3});
}

TEST(Operators, GradientsMatchDifferences) {
    const auto numbers_above_1 = [](int seed) {
        return numbers({2, 3}, seed) * numbers({2, 3}, seed) + 1;
    };
    gradient_check(
        [](const Tensors &in) {
            const Tensor &x = in[0];
            const Tensor &y = in[1];
            return (x * y - 2 * x) / (y + 1) - -y;
        },
        {numbers_above_1(3), numbers_above_1(5)});
}

TEST(Operators, RejectInvalidArguments) {
    const Tensor x = Tensor::ones({2});
    expect_error<ShapeError>("[add] b is an undefined tensor", [&] { (void)(x + Tensor()); });
    expect_error<DTypeError>("[sub] number 300 is out of range of u8",
                             [] { (void)(Tensor::ones({1}, DType::u8) - 300); });
    EXPECT_THROW((void)(x * Tensor::ones({3})), ShapeError);
}

TEST(Operators, KernelsAreTypedFunctions) {
    const Tensor x = Tensor::from<float>({0.5, 3});
    const Tensor zero = Tensor::zeros({2});
    EXPECT_EQ(kernel::smooth_l1(x, zero, 2.0).to_vector<float>(),
              Primitive("smooth_l1_kernel", {{"beta", 2.0}}).run({x, zero})[0].to_vector<float>());
    const Tensor y = F::softmax(x);
    EXPECT_EQ(kernel::softmax_dx(y, x).to_vector<float>(),
              Primitive("softmax_dx").run({y, x})[0].to_vector<float>());
}

TEST(Indexing, IntegersAndRanges) {
    const Tensor x = Tensor::from<float>({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}).reshape({3, 4});
    expect_tensor(x[1], DType::f32, {4, 5, 6, 7});
    expect_tensor(x[-1], DType::f32, {8, 9, 10, 11});
    expect_tensor(x[{1, 2}], DType::f32, {6});
    EXPECT_EQ((x[{1, 2}].rank()), 0);
    expect_tensor(x[1][2], DType::f32, {6});
    expect_tensor(x[{range(1, 3), 0}], DType::f32, {4, 8});
    expect_tensor(x[{range(), -1}], DType::f32, {3, 7, 11});
    expect_tensor(x[{0, range(1, to_end, 2)}], DType::f32, {1, 3});
    expect_tensor(x[{0, range(-3, -1)}], DType::f32, {1, 2});
    expect_tensor(x[{range(1, 100), range(2, 3)}], DType::f32, {6, 10});
    EXPECT_EQ(x[range(2, 1)].shape(), (Shape{0, 4}));
    x[{1, range(0, 2)}].assign(Tensor::from<float>({-1, -2}));
    expect_tensor(x[1], DType::f32, {-1, -2, 6, 7});
}

TEST(Indexing, HasGradients) {
    gradient_check(
        [](const Tensors &in) {
            return in[0][{range(1, 3), 0}] * in[0][{0, 1}];
        },
        {numbers({3, 2, 2})});
}

TEST(Indexing, RejectsInvalidArguments) {
    const Tensor x = Tensor::ones({3, 4});
    expect_error<ShapeError>("[index] entry 0 is 3, expected -3 to 2 in [3,4]",
                             [&] { (void)x[3]; });
    expect_error<ShapeError>("[index] entry 1 is -5, expected -4 to 3 in [3,4]", [&] {
        (void)x[{range(), -5}];
    });
    expect_error<ShapeError>("[index] entry 0 has step 0, expected 1 or more",
                             [&] { (void)x[range(0, 3, 0)]; });
    expect_error<ShapeError>("[index] 3 entries, expected at most 2 for [3,4]", [&] {
        (void)x[{0, 0, 0}];
    });
    expect_error<ShapeError>("[index] entry 0 is 0, but there is no element in [0]",
                             [] { (void)Tensor::ones({0})[0]; });
}

}  // namespace
}  // namespace halyard
