#include <gtest/gtest.h>

#include "primitives/ops.h"
#include "tests/primitives/gradient_check.h"
#include "tests/registry/expect_error.h"

namespace halyard {
namespace {

using Floats = std::vector<float>;

Tensor places(const std::vector<int32_t> &v) { return Tensor::from(v, {(int64_t)v.size()}); }

TEST(Indexing, GatherCountsFromTheEndAndRefusesWhatIsOutside) {
    const Tensor x = Tensor::from(Floats{0, 1, 2, 3, 4, 5}, {2, 3});
    EXPECT_EQ(F::gather(x, places({2, -3}), 1).to_vector<float>(), (Floats{2, 0, 5, 3}));
    EXPECT_EQ(F::gather(x, places({1}).reshape({1, 1}), 0).shape().text(), "[1,1,3]");
    expect_error<ShapeError>("[gather] index 1 is 2, expected -2 to 1", [&] { F::gather(x, places({0, 2}), 0); });
    expect_error<ShapeError>("[index_select] index 0 is -4, expected -3 to 2", [&] { F::index_select(x, places({-4}), 1); });
    expect_error<ShapeError>("[embedding] index 0 is 0, expected 0 to -1", [&] { F::embedding(places({0}), Tensor::zeros({0, 3})); });
}

TEST(Indexing, PadRefuses) {
    const Tensor x = Tensor::ones({2, 3});
    expect_error<AttrError>("[pad] padding is 3, expected at most 2 for an extent of 3", [&] { F::pad(x, {3, 0}, "reflect"); });
    expect_error<AttrError>("[pad] padding is -1, expected 0 or more", [&] { F::pad(x, {-1, 0}); });
    expect_error<AttrError>("[pad] padding has 3 values, expected an even number up to 4 for x[2,3]", [&] { F::pad(x, {1, 1, 1}); });
    expect_error<ShapeError>("[tile] 3 elements 2147483647 times, the limit is 2147483647", [&] { F::tile(x, {1, 2147483647}); });
}

// An element that is taken several times gets the sum of its gradients; one that isn't, none.
TEST(Indexing, Gradients) {
    const Tensor x = numbers({3, 4});
    auto check = [&](auto f) { gradient_check([&](const std::vector<Tensor> &in) { return f(in[0]); }, {x}); };
    check([](const Tensor &t) { return F::gather(t, places({2, 0, 2}), 0); });
    check([](const Tensor &t) { return F::pad(t, {1, 2, 2, 0}, "reflect"); });
    check([](const Tensor &t) { return F::pad(t, {1, 2}, "constant", 3.0); });
    check([](const Tensor &t) { return F::tile(t, {2, 1, 3}); });
    check([](const Tensor &t) { return F::roll(F::flip(t, {0, 1}), {1}, {1}); });
    check([](const Tensor &t) { return F::repeat_interleave(t, 2, -1); });
    check([](const Tensor &t) { return F::embedding(places({1, 1, 0}), t); });
}

TEST(Scan, Gradients) {
    const Tensor x = numbers({3, 21});
    for (const bool exclusive : {false, true})
        for (const bool reverse : {false, true}) gradient_check([&](const std::vector<Tensor> &in) { return ops::CumSum(exclusive, reverse)(in[0], 0); }, {x});
}

TEST(Norm, Gradients) {
    const Tensor x = numbers({3, 4, 5});
    gradient_check([](const std::vector<Tensor> &in) { return F::reduce_l1(in[0], {0, 2}); }, {x});
    gradient_check([](const std::vector<Tensor> &in) { return F::reduce_l2(in[0], {1}, true); }, {x});
    Tape tape;
    const Tensor zero = Tensor::zeros({2, 3});
    tape.watch(zero);
    EXPECT_EQ(tape.gradient(F::reduce_l2(zero, {1}), {zero})[0].to_vector<float>(), std::vector<float>(6, 0));
}

}  // namespace
}  // namespace halyard
