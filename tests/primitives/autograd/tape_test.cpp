#include "primitives/autograd/tape.h"

#include <HalideRuntime.h>
#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "primitives/composites/concat.h"
#include "primitives/library.h"
#include "primitives/ops/binary.h"
#include "primitives/ops/conv2d.h"
#include "primitives/ops/dense.h"
#include "primitives/ops/dropout.h"
#include "primitives/ops/losses.h"
#include "primitives/ops/matmul.h"
#include "primitives/ops/reduce.h"
#include "primitives/ops/shapes.h"
#include "primitives/ops/softmax.h"
#include "primitives/ops/sorting.h"
#include "primitives/ops/unary.h"
#include "registry/tensor/memory.h"
#include "tests/primitives/gradient_check.h"
#include "tests/registry/expect_error.h"

namespace halyard {
namespace {

using Tensors = std::vector<Tensor>;
using Doubles = std::vector<double>;

TEST(Tape, GradientsOfElementwiseOps) {
    gradient_check([](const Tensors &x) { return F::mul(x[0], x[1]); },
                   {numbers({2, 3}), numbers({2, 3}, 2)});
    gradient_check([](const Tensors &x) { return F::add(F::tanh(x[0]), F::exp(x[1])); },
                   {numbers({5}), numbers({5}, 2)});
    gradient_check([](const Tensors &x) { return F::relu(x[0]); }, {numbers({3, 4})});
    gradient_check([](const Tensors &x) { return F::softmax(x[0], 0); }, {numbers({3, 4})});
}

TEST(Tape, BroadcastGradientsAreSummedBack) {
    for (const Shape &s : {Shape{3}, Shape{1}, Shape{}, Shape{2, 1}, Shape{1, 3}, Shape{1, 1}}) {
        gradient_check([](const Tensors &x) { return F::mul(F::add(x[0], x[1]), x[1]); },
                       {numbers({2, 3}), numbers(s, 2)});
    }
    gradient_check([](const Tensors &x) { return F::mul(x[0], x[1]); },
                   {numbers({4, 1, 3}), numbers({2, 1}, 2)});
}

TEST(Tape, SumsSpreadTheirGradient) {
    const Tensor x = numbers({2, 3, 4});
    for (const Ints &axis : {Ints{}, Ints{1}, Ints{-1, 0}, Ints{0, 1, 2}}) {
        for (bool keep : {false, true}) {
            gradient_check([&](const Tensors &v) { return F::reduce_sum(v[0], axis, keep); }, {x});
            gradient_check([&](const Tensors &v) { return F::reduce_sum(v[0], axis, keep); },
                           {numbers({1, 1, 1})});
            gradient_check(
                [&](const Tensors &v) {
                    return F::exp(F::reduce_sum(F::mul(v[0], v[0]), axis, keep));
                },
                {numbers({2, 1, 2})});
        }
    }
}

TEST(Tape, GradientsOfSeveralUsesAreAdded) {
    gradient_check(
        [](const Tensors &x) {
            return F::add(F::add(F::mul(x[0], x[0]), x[0]), F::mul(F::tanh(x[0]), x[0]));
        },
        {numbers({3, 2})});
    const Tensor x = Tensor::from<double>({2.0});
    Tape tape;
    tape.watch(x);
    Tensor y = x;
    for (int i = 0; i < 5; i++)
        y = F::add(y, x);
    EXPECT_EQ(tape.gradient(y, {x})[0].to_vector<double>(), Doubles{6});
}

TEST(Tape, DoesNotChangeAPassedGradient) {
    const Tensor x = Tensor::from<double>({1.0, 2.0}), sens = Tensor::from<double>({10.0, 20.0});
    Tape tape;
    tape.watch(x);
    const Tensor y = F::add(F::add(x, x), x);
    EXPECT_EQ(tape.gradient(y, {x}, sens)[0].to_vector<double>(), (Doubles{30, 60}));
    EXPECT_EQ(sens.to_vector<double>(), (Doubles{10, 20}));
}

TEST(Tape, SeveralResultsAndIntermediates) {
    const Tensor x = Tensor::from<double>({3.0});
    Tape tape;
    tape.watch(x);
    const Tensor a = F::mul(x, x);
    const Tensor b = F::mul(a, x);
    const Tensors g = tape.gradient(Tensors{a, b}, {x, a}, {});
    EXPECT_EQ(g[0].item(), 2 * 3 + 3 * 9);
    EXPECT_EQ(g[1].item(), 1 + 3);
}

TEST(Tape, IndependentInputsHaveZeroGradients) {
    const Tensor x = numbers({2}), z = numbers({3});
    Tape tape;
    tape.watch(x);
    tape.watch(z);
    const Tensors g = tape.gradient(F::exp(x), {z});
    EXPECT_EQ(g[0].to_vector<double>(), (Doubles{0, 0, 0}));
}

TEST(Tape, KeepAllowsSeveralGradients) {
    const Tensor x = Tensor::from<double>({3.0});
    Tape tape;
    tape.watch(x);
    const Tensor y = F::mul(x, x);
    EXPECT_EQ(tape.gradient(y, {x}, {}, true)[0].item(), 6);
    EXPECT_EQ(tape.gradient(y, {x})[0].item(), 6);
    expect_error<GradError>(
        "[tape] its recordings were released by the gradient asked before; ask with keep",
        [&] { tape.gradient(y, {x}); });
}

TEST(Tape, SecondDerivatives) {
    const Tensor x = Tensor::from<double>({0.5, -1.25, 2.0});
    auto second = [&](const std::function<Tensor(const Tensor &)> &f) {
        Tape outer;
        outer.watch(x);
        Tensor first;
        {
            Tape inner;
            inner.watch(x);
            first = inner.gradient(f(x), {x})[0];
        }
        return outer.gradient(first, {x})[0].to_vector<double>();
    };
    const Doubles cube = second([](const Tensor &v) { return F::mul(F::mul(v, v), v); });
    const Doubles tanh = second([](const Tensor &v) { return F::tanh(v); });
    const Doubles exp = second([](const Tensor &v) { return F::exp(v); });
    const Doubles at = x.to_vector<double>();
    for (size_t i = 0; i < at.size(); i++) {
        const double t = std::tanh(at[i]);
        EXPECT_NEAR(cube[i], 6 * at[i], 1e-12);
        EXPECT_NEAR(tanh[i], -2 * t * (1 - t * t), 1e-12);
        EXPECT_NEAR(exp[i], std::exp(at[i]), 1e-12);
    }
}

TEST(Tape, GradientsOfGradientsThroughBroadcastsViewsAndSoftmax) {
    gradient_check(
        [](const Tensors &x) {
            Tape inner;
            inner.watch(x[0]);
            inner.watch(x[1]);
            const Tensor y = F::mul(F::softmax(F::transpose(F::mul(x[0], x[1]), {1, 0}), -1),
                                    F::transpose(x[0], {1, 0}));
            const Tensors g = inner.gradient(y, {x[0], x[1]});
            return F::add(F::mul(g[0], g[0]), F::exp(g[1]));
        },
        {numbers({2, 3}), numbers({3}, 2)});
}

TEST(Tape, RecordsNothingWhileStopped) {
    const Tensor x = Tensor::from<double>({3.0});
    Tape tape;
    tape.watch(x);
    Tensor y;
    {
        const StopTape stop;
        EXPECT_EQ(Tape::current(), nullptr);
        y = F::mul(x, x);
    }
    EXPECT_EQ(Tape::current(), &tape);
    EXPECT_FALSE(tape.watched(y));
    const Tensor z = F::mul(stop_gradient(F::mul(x, x)), x);
    EXPECT_EQ(tape.gradient(z, {x})[0].item(), 9);
}

TEST(Tape, CustomBackward) {
    const Tensor x = Tensor::from<double>({3.0});
    Tape tape;
    tape.watch(x);
    const Tensor a = F::mul(x, x);
    const Tensor b = stop_gradient(a);
    tape.record({a}, {b}, [](std::span<const Tensor> dy) { return Tensors{F::mul(dy[0], 100)}; });
    EXPECT_EQ(tape.gradient(F::add(b, x), {x})[0].item(), 601);
}

TEST(Tape, RejectsInvalidArguments) {
    const Tensor x = numbers({2});
    expect_error<GradError>("[tape] can't watch a tensor of i32, only floats have gradients",
                            [] { Tape().watch(Tensor::zeros({1}, DType::i32)); });
    Tape tape;
    tape.watch(x);
    const Tensor y = F::exp(x);
    expect_error<GradError>("[tape] x 1 was not watched", [&] {
        tape.gradient(y, {x, numbers({2}, 2)}, {}, true);
    });
    expect_error<GradError>("[tape] sens has shape [3], expected [2]",
                            [&] { tape.gradient(y, {x}, numbers({3}), true); });
    expect_error<GradError>("[tape] sens is f32, expected f64",
                            [&] { tape.gradient(y, {x}, Tensor::ones({2}), true); });
    const Tensor z = stop_gradient(y);
    tape.record({y}, {z}, [](std::span<const Tensor>) { return Tensors{}; });
    expect_error<GradError>("[tape] a backward function returned 0 gradients, expected 1",
                            [&] { tape.gradient(z, {x}, {}, true); });
    expect_error<GradError>(
        "[tape] an output is already on the tape; a function records tensors of its own, made "
        "where a StopTape lives",
        [&] { tape.record({x}, {y}, [](std::span<const Tensor> dy) { return Tensors{dy[0]}; }); });
}

// A handwritten op y = -x without a gradient. It has a second input, which it doesn't read.
int negate(void **args) {
    const auto *x = (const halide_buffer_t *)args[0];
    const auto *y = (const halide_buffer_t *)args[2];
    for (int i = 0; i < y->dim[0].extent; i++)
        ((double *)y->host)[i] = -((const double *)x->host)[i];
    return 0;
}

TEST(Tape, ErrorNamesAnOpWithoutGradient) {
    static OpFile file;
    file.ops.emplace_back();
    file.ops[0].name = "test_negate";
    file.ops[0].signature = "x[n] unused[n] -> y[n]";
    file.ops[0].dtypes = {"f64"};
    file.kernels.emplace_back();
    file.kernels[0].op = "test_negate";
    file.kernels[0].backend = "cpu";
    file.kernels[0].dtypes = "f64";
    file.kernels[0].fn = negate;
    library().add({&file});
    const Primitive op("test_negate");
    const Tensor x = Tensor::from<double>({1, 2}), z = Tensor::from<double>({3, 4});
    Tape tape;
    tape.watch(x);
    tape.watch(z);
    const Tensor y = op.run({x, z})[0];
    EXPECT_EQ(y.to_vector<double>(), (Doubles{-1, -2}));
    expect_error<GradError>("[test_negate] has no gradient in x",
                            [&] { tape.gradient(y, {x}, {}, true); });
    expect_error<GradError>("[test_negate] has no gradient in unused",
                            [&] { tape.gradient(y, {z}, {}, true); });
    EXPECT_EQ(tape.gradient(F::mul(z, 2), {x, z}, {}, true)[1].to_vector<double>(),
              (Doubles{2, 2}));
}

TEST(Tape, IntegersStopGradients) {
    const Tensor x = Tensor::from<double>({1.5, 2.5});
    Tape tape;
    tape.watch(x);
    const Tensor mask = F::dropout(x, 0.5, 1, 1)[1];
    EXPECT_FALSE(tape.watched(mask));
    EXPECT_TRUE(tape.watched(F::dropout(x, 0.5, 1, 1)[0]));
}

TEST(Tape, KeepsOnlyTensorsThatGradientsRead) {
    const Tensor x = numbers({1000});
    const int64_t one = int64_t(x.bytes());
    Tape tape;
    tape.watch(x);
    Tensor y = F::add(x, 1.0);
    for (int i = 0; i < 100; i++)
        y = F::add(y, 1.0);  // Add's gradient reads nothing.
    EXPECT_LE(tape.kept_bytes(), 12 * one);
    EXPECT_EQ(tape.gradient(y, {x}, {}, true)[0].to_vector<double>(), Doubles(1000, 1.0));
    const int64_t before = tape.kept_bytes();
    for (int i = 0; i < 10; i++)
        y = F::tanh(y);
    EXPECT_GE(tape.kept_bytes(), before + 9 * one);
    tape.gradient(y, {x});
    EXPECT_EQ(tape.kept_bytes(), 0);
}

TEST(Tape, ReusedAddressesAreNotConfused) {
    const Tensor x = Tensor::from<double>({1.0});
    Tape tape;
    tape.watch(x);
    for (int i = 0; i < 200; i++)
        F::add(x, 1.0);  // Nobody keeps the results.
    for (int i = 0; i < 200; i++) {
        const Tensor fresh = Tensor::ones({1}, DType::f64);
        ASSERT_FALSE(tape.watched(fresh)) << i;
    }
}

TEST(Tape, ReleasesMemory) {
    F::softmax(F::exp(numbers({2, 2})));  // Plans and constants are made once.
    auto step = [] {
        const Tensor x = numbers({64, 64}), w = numbers({64}, 2);
        Tape outer;
        outer.watch(x);
        Tape tape;
        tape.watch(x);
        tape.watch(w);
        Tensor y = x;
        for (int i = 0; i < 20; i++)
            y = F::tanh(F::mul(F::reshape(F::add(y, w), {64, 64}), w));
        tape.gradient(y, {x, w}, {}, true);
        return tape.gradient(y, {x, w})[1].at({0});
    };
    const double first = step();
    const int64_t blocks = memory::stats().live_blocks;
    EXPECT_EQ(step(), first);
    EXPECT_EQ(memory::stats().live_blocks, blocks);
}

// Gradients of empty batches are empty, or zeros.
TEST(Tape, EmptyBatchesHaveGradients) {
    const auto shapes = [](const Several &f, const Tensors &x) {
        Tape tape;
        for (const Tensor &t : x)
            tape.watch(t);
        const Tensor y = f(x);
        const Tensors dx = tape.gradient(y, x, Tensor::ones(y.shape(), y.dtype()));
        for (size_t k = 0; k < x.size(); k++) {
            EXPECT_EQ(dx[k].shape().text(), x[k].shape().text());
            for (double v : dx[k].to_vector<double>())
                EXPECT_EQ(v, 0);
        }
    };
    const Tensor rows = Tensor::zeros({0, 4}), images = Tensor::zeros({0, 2, 5, 5});
    const Tensor bias = Tensor::ones({4});
    shapes([](const Tensors &x) { return F::add(x[0], x[1]); }, {rows, bias});
    shapes([](const Tensors &x) { return F::mul(x[0], x[1]); }, {rows, Tensor::ones({1, 1})});
    shapes([](const Tensors &x) { return F::dense(x[0], x[1], x[2]); },
           {Tensor::zeros({0, 8}), Tensor::ones({4, 8}), bias});
    shapes([](const Tensors &x) { return F::conv2d(x[0], x[1]); },
           {images, Tensor::ones({4, 2, 3, 3})});
    shapes([](const Tensors &x) { return F::reduce_sum(x[0], {0}); }, {rows});
    shapes([](const Tensors &x) { return F::reduce_mean(x[0]); }, {rows});
    shapes([](const Tensors &x) { return F::mse_loss(x[0], x[1], "sum"); }, {rows, rows.copy()});
    shapes([](const Tensors &x) { return F::sort(x[0])[0]; }, {Tensor::zeros({0})});
    shapes([](const Tensors &x) { return F::concat({x[0], F::mul(x[0], 2)}, 1); }, {rows});
    shapes([](const Tensors &x) { return F::matmul(x[0], x[1]); },
           {Tensor::ones({2, 0}), Tensor::ones({0, 3})});
}

TEST(Tape, GradientsPassBesideEmptyTensors) {
    const Tensor none = Tensor::zeros({0, 3}, DType::f64);
    const Tensor some = numbers({2, 3});
    Tape tape;
    tape.watch(none);
    tape.watch(some);
    const Tensor y = F::concat({none, some});
    const Tensors dx = tape.gradient(y, {none, some});
    EXPECT_EQ(dx[0].shape().text(), "[0,3]");
    EXPECT_EQ(dx[1].to_vector<double>(), Doubles(6, 1));
}

TEST(Tape, MayBeDestroyedInAnyOrder) {
    const Tensor x = numbers({3});
    auto outer = std::make_unique<Tape>();
    auto inner = std::make_unique<Tape>();
    inner->watch(x);
    outer.reset();
    EXPECT_EQ(Tape::current(), inner.get());
    const Tensor y = F::mul(x, x);
    EXPECT_EQ(inner->gradient(y, {x})[0].at({1}), 2 * x.at({1}));
    inner.reset();
    EXPECT_EQ(Tape::current(), nullptr);
    EXPECT_EQ(F::mul(x, x).at({1}), y.at({1}));
}

TEST(Tape, MayEndInAnyOrderWithStops) {
    const Tensor x = numbers({3});
    auto outer = std::make_unique<Tape>();
    outer->watch(x);
    auto stop = std::make_unique<StopTape>();
    auto inner = std::make_unique<Tape>();
    inner->watch(x);
    EXPECT_FALSE(outer->watched(F::mul(x, x)));
    stop.reset();  // The enclosing tape records again.
    const Tensor y = F::mul(x, x);
    EXPECT_TRUE(outer->watched(y) && inner->watched(y));
    inner.reset();
    EXPECT_EQ(Tape::current(), outer.get());
    const StopTape again;
    outer.reset();
    EXPECT_EQ(Tape::current(), nullptr);
}

TEST(TapeDeathTest, IsNotDestroyedOnAnotherThreadWhileItRecords) {
    const auto move_away = [](bool stopped) {
        auto tape = std::make_unique<Tape>();
        if (stopped) tape->stop();
        std::thread([&] { tape.reset(); }).join();
    };
    move_away(true);
    EXPECT_DEATH(move_away(false), "destroyed on another thread than its own");
}

TEST(Tape, RejectsAnUndefinedResult) {
    const Tensor x = numbers({3});
    Tape tape;
    tape.watch(x);
    expect_error<GradError>("[tape] y 0 is an undefined tensor",
                            [&] { tape.gradient(Tensor(), {x}, Tensor::ones({3})); });
}

}  // namespace
}  // namespace halyard
