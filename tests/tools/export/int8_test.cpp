// Networks in integers: near those in f32, and the same bits in C99 as in the reference.
#include "tools/export/int8_lowering.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "graph/capture.h"
#include "graph/passes.h"
#include "nn/activation.h"
#include "nn/conv.h"
#include "nn/dense.h"
#include "nn/norm.h"
#include "nn/pooling.h"
#include "primitives/operators.h"
#include "primitives/ops/matmul.h"
#include "primitives/ops/reduce.h"
#include "primitives/ops/shapes.h"
#include "primitives/ops/unary.h"
#include "primitives/random.h"
#include "registry/base/error.h"
#include "tests/tools/c99/compiled.h"
#include "tools/c99/constants.h"
#include "tools/export/int8_accuracy.h"
#include "tools/export/int8_arena.h"
#include "tools/export/int8_reference.h"
#include "tools/export/int8_source.h"
#include "tools/export/int8_weights.h"

namespace halyard::exporting {
namespace {

using testing::HasSubstr;

// Returns a tensor of numbers between -1 and 1.
Tensor numbers(const Shape &shape, uint64_t seed) {
    Tensor t = Tensor::empty(shape, DType::f32);
    const Random random(seed, 0);
    for (int64_t i = 0; i < t.elements(); i++)
        static_cast<float *>(t.raw())[i] = float(random.below(uint64_t(i), 2001)) / 1000 - 1;
    return t;
}

// A function of one tensor, its graph and what it is in integers.
struct Int8Function {
    template<class F> Int8Function(const F &f, const Shape &shape) {
        for (uint64_t seed = 1; seed <= 8; seed++)
            inputs.push_back(numbers(shape, seed));
        graph::Capture capture("call", {inputs[0]});
        capture.run([&](std::span<const Tensor> in) { return std::vector<Tensor>{f(in[0])}; });
        EXPECT_EQ(capture.reason(), "");
        graph = capture.take();
        graph::run_passes(graph);
        c99::fold_constants(graph);
        c99::fold_norms(graph);
        network = lowered(graph, calibrated(graph, inputs));
    }

    const Int8Tensor &x() const { return network.tensors.at(network.input); }
    const Int8Tensor &y() const { return network.tensors.at(network.output); }
    std::vector<int8_t> integers(size_t k) const {
        return quantized(x(), static_cast<const float *>(inputs[k].raw()));
    }

    std::vector<Tensor> inputs;
    graph::Graph graph;
    Int8Network network;
};

// Expects that the function in C99 gives the reference's bits, of integers and of floats. Returns
// the source that takes floats.
c99::CallSource expect_same_bits(const Int8Function &f) {
    c99::CallSource of_floats = source_of(f.network, "call", false);
    const c99::CallSource of_integers = source_of(f.network, "call", true);
    const c99::Compiled floats(c99::unit_of({of_floats}, ""));
    const c99::Compiled integers(c99::unit_of({of_integers}, ""));
    for (size_t k = 0; k < f.inputs.size(); k++) {
        const std::vector<int8_t> x = f.integers(k);
        const std::vector<int8_t> expected = reference_of(f.network, x);
        std::vector<int8_t> y(expected.size());
        integers.get<void(const void *, void *)>("call")(x.data(), y.data());
        EXPECT_EQ(y, expected) << of_integers.text;
        std::vector<float> reals(expected.size());
        floats.get<void(const void *, void *)>("call")(f.inputs[k].raw(), reals.data());
        EXPECT_EQ(reals, dequantized(f.y(), expected)) << of_floats.text;
    }
    return of_floats;
}

// Expects that besides the function has this many steps in integers, and results near those in f32.
c99::CallSource expect_near(const Int8Function &f, size_t steps, double error = 0.02) {
    EXPECT_EQ(f.network.steps.size(), steps);
    EXPECT_LT(relative_error(f.graph, f.network, f.inputs), error);
    return expect_same_bits(f);
}

template<class F> std::string error_of(const F &f, const Shape &shape) {
    try {
        Int8Function(f, shape);
    } catch (const Error &e) {
        return e.what();
    }
    return "";
}

TEST(Int8, ConvolutionWithBiasReluAndPoolIsOneStep) {
    const nn::Conv2d conv(3, 5, 3, {.pad_mode = F::PadMode::valid, .has_bias = true});
    const nn::MaxPool2d pool({.kernel_size = 2, .stride = 2});
    const Int8Function f([&](const Tensor &x) { return pool(F::relu(conv(x))); }, {1, 3, 9, 10});
    const c99::CallSource call = expect_near(f, 1);
    EXPECT_THAT(call.text, HasSubstr("call_1_conv2d_add_relu_max_pool2d("));
    // Four rows of the input are integers at a time.
    EXPECT_EQ(arena_of(f.network, false).rows, 0);
    EXPECT_EQ(call.arena_bytes, 128 + 64);
}

TEST(Int8, WindowsOfOtherSizesAndPaddingAreComputed) {
    struct Form {
        nn::ConvOptions<2> conv;
        int64_t channels, kernel, pool;
    };
    const Form forms[] = {
        {{.stride = 2, .pad_mode = F::PadMode::same}, 6, 3, 1},
        {{.stride = 2, .pad_mode = F::PadMode::pad, .padding = 1}, 6, 3, 2},
        {{.pad_mode = F::PadMode::pad, .padding = 2, .dilation = 2, .group = 2}, 6, 3, 1},
        {{.pad_mode = F::PadMode::pad, .padding = 1, .group = 4}, 4, 3, 3},
        {{.pad_mode = F::PadMode::valid, .dilation = 2, .group = 2}, 6, 3, 2},
        {{.pad_mode = F::PadMode::valid, .group = 4}, 8, 2, 3},
        {{.stride = 2, .pad_mode = F::PadMode::valid}, 3, 1, 1},
        {{.pad_mode = F::PadMode::valid}, 3, 1, 2},
    };
    for (const Form &form : forms) {
        for (const Shape &shape : {Shape{2, 4, 12, 11}, Shape{1, 4, 11, 13}}) {
            const nn::Conv2d conv(4, form.channels, form.kernel, form.conv);
            const nn::MaxPool2d pool({.kernel_size = form.pool, .stride = form.pool});
            const auto f = [&](const Tensor &x) {
                const Tensor y = F::relu6(conv(x));
                return form.pool == 1 ? y : pool(y);
            };
            expect_near(Int8Function(f, shape), 1);
        }
    }
}

TEST(Int8, ConvolutionsAfterOthersReadIntegers) {
    const nn::Conv2d first(2, 4, 1), depthwise(4, 4, 3, {.group = 4}), last(4, 3, 1);
    const Int8Function f(
        [&](const Tensor &x) { return last(F::relu6(depthwise(F::relu6(first(x))))); },
        {1, 2, 8, 8});
    expect_near(f, 3, 0.03);
}

TEST(Int8, MatmulsTakeBothOrdersOfWeights) {
    const nn::Dense dense(12, 7);
    const Tensor b = numbers({7, 5}, 20);
    const Int8Function f([&](const Tensor &x) { return F::matmul(F::relu(dense(x)), b); }, {3, 12});
    expect_near(f, 2);
}

TEST(Int8, NormsAreFoldedAndShortcutsJoin) {
    const nn::Conv2d a(4, 4, 3), b(4, 4, 3);
    const nn::BatchNorm2d norm(4);
    const Int8Function f(
        [&](const Tensor &x) {
            const Tensor y = F::relu(norm(a(x)));
            return F::relu(norm(b(y)) + y);
        },
        {1, 4, 7, 7});
    const c99::CallSource call = expect_near(f, 2, 0.03);
    EXPECT_THAT(call.text, HasSubstr("call_2_conv2d_add_add_relu("));
}

// A shortcut may be computed after the convolution that it is added to.
TEST(Int8, LaterShortcutsJoin) {
    const nn::Conv2d a(4, 4, 3), b(4, 4, 1);
    const Int8Function f(
        [&](const Tensor &x) {
            const Tensor left = a(x);
            const Tensor right = F::relu(b(x));
            return left + right;
        },
        {1, 4, 7, 7});
    expect_near(f, 2, 0.03);
}

TEST(Int8, PoolsSumsAndActivationsAreStepsOfTheirOwn) {
    const nn::MaxPool2d largest(
        {.kernel_size = 3, .stride = 2, .pad_mode = F::PadMode::pad, .padding = 1});
    const nn::AvgPool2d average({.kernel_size = 2, .stride = 1});
    expect_near(Int8Function([&](const Tensor &x) { return largest(x); }, {2, 3, 9, 8}), 1);
    expect_near(Int8Function([&](const Tensor &x) { return average(x); }, {2, 3, 9, 8}), 1);
    expect_near(Int8Function([&](const Tensor &x) { return x + F::relu(x); }, {2, 3, 9, 8}), 2);
    expect_near(Int8Function(
                    [&](const Tensor &x) {
                        return F::reduce_mean(F::relu(x), {2, 3});
                    },
                    {2, 3, 9, 8}),
                2, 0.03);
}

// A channel of tiny weights, one of none, and biases that are large beside them.
TEST(Int8, ChannelsOfDifferentSizesKeepTheirDigits) {
    const nn::Conv2d conv(2, 4, 3, {.pad_mode = F::PadMode::valid, .has_bias = true});
    auto *weight = static_cast<float *>(conv.weight.data().raw());
    for (int64_t i = 0; i < 18; i++) {
        weight[i] *= 1e-9f;
        weight[18 + i] = 0;
    }
    expect_near(Int8Function([&](const Tensor &x) { return conv(x); }, {1, 2, 6, 6}), 1);
}

TEST(Int8, ZeroNetworksAreZero) {
    const Int8Function f(
        [&](const Tensor &x) {
            return F::matmul(x, Tensor::zeros({4, 3}));
        },
        {2, 4});
    expect_same_bits(f);
    EXPECT_EQ(dequantized(f.y(), reference_of(f.network, f.integers(0))),
              std::vector<float>(6, 0.0f));
}

TEST(Int8, InputsOutsideOfTheRangeSaturate) {
    const Int8Function f([&](const Tensor &x) { return F::relu(x); }, {1, 6});
    const float inf = std::numeric_limits<float>::infinity();
    const float x[] = {-inf, inf, std::numeric_limits<float>::quiet_NaN(), 1e30f, -1e30f, 0};
    const std::vector<int8_t> q = quantized(f.x(), x);
    EXPECT_EQ(q, (std::vector<int8_t>{-128, 127, -128, 127, -128, int8_t(f.x().zero)}));
    const c99::Compiled floats(c99::unit_of({source_of(f.network, "call", false)}, ""));
    std::vector<float> y(6);
    floats.get<void(const void *, void *)>("call")(x, y.data());
    EXPECT_EQ(y, dequantized(f.y(), reference_of(f.network, q)));
}

TEST(Int8, HalvesAreRoundedAwayFromZero) {
    Int8Network n;
    n.input = 0;
    n.output = 1;
    n.tensors = {{0, {{1, 4}}}, {1, {{1, 4}}}};
    Int8Step s;
    s.kind = Int8Step::Kind::rescale;
    s.name = "relu";
    s.x = 0;
    s.y = 1;
    s.to_y.multiplier = {1};
    s.to_y.shift = 1;
    n.steps = {s};
    EXPECT_EQ(reference_of(n, {3, -3, 1, -1}), (std::vector<int8_t>{2, -2, 1, -1}));
    const c99::Compiled c(c99::unit_of({source_of(n, "call", true)}, ""));
    const int8_t x[] = {3, -3, 1, -1};
    std::vector<int8_t> y(4);
    c.get<void(const void *, void *)>("call")(x, y.data());
    EXPECT_EQ(y, (std::vector<int8_t>{2, -2, 1, -1}));
}

TEST(Int8, OpsWithoutAnIntegerFormAreRefusedWithTheirCell) {
    const nn::Sigmoid sigmoid;
    EXPECT_THAT(error_of([&](const Tensor &x) { return sigmoid(x); }, {1, 4}),
                HasSubstr("[sigmoid] has no integer form (--int8): there is none of this op, in "
                          "Sigmoid"));
    EXPECT_THAT(error_of([&](const Tensor &x) { return F::matmul(x, x); }, {4, 4}),
                HasSubstr("[matmul] has no integer form (--int8): its second operand isn't "
                          "constant"));
    const Tensor b = numbers({4, 3}, 1);
    EXPECT_THAT(error_of([&](const Tensor &x) { return F::matmul(x, b); }, {2, 4, 4}),
                HasSubstr("isn't among the forms of it"));
    const Tensor row = numbers({4}, 1);
    EXPECT_THAT(error_of([&](const Tensor &x) { return x + row; }, {2, 4}),
                HasSubstr("[add] has no integer form (--int8): a constant is added to something "
                          "else than a convolution or matmul"));
    const nn::Conv2d conv(4, 4, 3);
    EXPECT_THAT(error_of([&](const Tensor &x) { return conv(x) + row; }, {1, 4, 4, 4}),
                HasSubstr("the constant [4] isn't one by channel"));
    EXPECT_THAT(error_of([&](const Tensor &x) { return x + F::reduce_mean(x, {1}, true); }, {2, 4}),
                HasSubstr("[reduce_mean] has no integer form"));
}

TEST(Int8, OutputsAreWholeResults) {
    const nn::Dense dense(4, 6);
    const Int8Function f([&](const Tensor &x) { return F::reshape(dense(x), {3, 4}); }, {2, 4});
    EXPECT_EQ(f.y().shape, (Shape{3, 4}));
    expect_near(f, 1);
    for (const auto &part : {+[](const Tensor &y) {
                                 return F::transpose(y, {1, 0});
                             },
                             +[](const Tensor &y) { return y[0]; }}) {
        EXPECT_THAT(error_of([&](const Tensor &x) { return part(dense(x)); }, {2, 4}),
                    HasSubstr("has no integer form (--int8)"));
    }
}

TEST(Int8, NumbersThatAreNotFiniteAreRefused) {
    const nn::Dense dense(4, 3);
    static_cast<float *>(dense.weight.data().raw())[5] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_THAT(error_of([&](const Tensor &x) { return dense(x); }, {2, 4}),
                HasSubstr("is nan at element 5, expected finite numbers"));
    const Tensor large = Tensor::full({4, 3}, 3e38);
    EXPECT_THAT(error_of([&](const Tensor &x) { return F::matmul(x, large); }, {2, 4}),
                HasSubstr("for input 0 of the data"));
}

TEST(Int8, SumsOfMoreThan32BitsAreRefused) {
    const Tensor ones = Tensor::ones({140'000, 1});
    EXPECT_THAT(error_of([&](const Tensor &x) { return F::matmul(x, ones); }, {1, 140'000}),
                HasSubstr("sums of 140000 products can be"));
}

}  // namespace
}  // namespace halyard::exporting
