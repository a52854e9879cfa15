#include "primitives/primitive.h"

#include <gtest/gtest.h>

#include "primitives/ops.h"
#include "primitives/tape.h"
#include "tests/registry/expect_error.h"

namespace halyard {
namespace {

using Doubles = std::vector<double>;

void expect(const Tensor &t, DType d, const Doubles &v) {
    EXPECT_STREQ(name_of(t.dtype()), name_of(d));
    EXPECT_EQ(t.to_vector<double>(), v);
}

TEST(Promotion, NumbersTakeTheirPartnersDtype) {
    for (DType d : {DType::f64, DType::f32, DType::f16, DType::bf16, DType::i64, DType::i32, DType::i8, DType::u8})
        expect(F::add(Tensor::ones({2}, d), 2), d, {3, 3});
    for (DType d : {DType::f64, DType::f32, DType::f16, DType::bf16}) expect(F::mul(0.5, Tensor::ones({2}, d)), d, {0.5, 0.5});
    expect(F::add(Tensor::ones({1}, DType::f64), 0.1), DType::f64, {1.1});
    expect(F::add(Tensor::ones({1}, DType::i32), 0.5), DType::f32, {1.5});
    expect(F::add(Tensor::ones({1}, DType::i32), 2.0), DType::f32, {3});
}

TEST(Promotion, TensorsOfDifferentDtypes) {
    expect(F::add(Tensor::ones({1}, DType::f32), Tensor::ones({1}, DType::f64)), DType::f64, {2});
    expect(F::add(Tensor::ones({1}, DType::i32), Tensor::full({1}, 0.5, DType::f32)), DType::f32, {1.5});
}

TEST(Promotion, NumbersThatDoNotFitAreRefused) {
    expect_error<DTypeError>("[add] number 300 is out of range of u8", [] { F::add(Tensor::ones({1}, DType::u8), 300); });
    expect_error<DTypeError>("[mul] number -129 is out of range of i8", [] { F::mul(Tensor::ones({1}, DType::i8), -129); });
}

TEST(Promotion, GradientsComeBackInTheInputsDtype) {
    const Tensor a = Tensor::ones({2}, DType::f32), b = Tensor::full({2}, 3, DType::f64);
    Tape tape;
    tape.watch(a), tape.watch(b);
    const std::vector<Tensor> g = tape.gradient(F::mul(a, b), {a, b});
    expect(g[0], DType::f32, {3, 3});
    expect(g[1], DType::f64, {1, 1});
}

TEST(Primitive, Errors) {
    expect_error<AttrError>("[softmax] no attribute 'axes'", [] { Primitive("softmax", {{"axes", 1}}); });
    expect_error<ShapeError>("[add] takes 2 tensors, got 1", [] { Primitive("add").run_promoted({Argument(1)}); });
    expect_error<ShapeError>("[reshape] takes 1 tensors, got 2", [] { Primitive("reshape").run({Tensor::ones({1}), Tensor::ones({1})}); });
    EXPECT_THROW(Primitive("sofmax"), DispatchError);
}

TEST(Primitive, OneObjectServesManyCalls) {
    const ops::Softmax softmax(0);
    expect(softmax(Tensor::ones({2}, DType::f64)), DType::f64, {0.5, 0.5});
    expect(softmax(Tensor::ones({4, 1}, DType::f32)), DType::f32, {0.25, 0.25, 0.25, 0.25});
}

}  // namespace
}  // namespace halyard
