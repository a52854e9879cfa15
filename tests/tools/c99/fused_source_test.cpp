// Calls computed where their operand is: which are, and that results keep their bits.
#include "tools/c99/fused_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "bench/harness/case.h"
#include "dsl/all_ops.h"
#include "graph/capture.h"
#include "graph/passes.h"
#include "nn/activation.h"
#include "nn/conv.h"
#include "nn/norm.h"
#include "nn/pooling.h"
#include "primitives/operators.h"
#include "primitives/ops/formula.h"
#include "primitives/ops/matmul.h"
#include "primitives/ops/reduce.h"
#include "primitives/ops/shapes.h"
#include "primitives/ops/unary.h"
#include "primitives/random.h"
#include "tests/tools/c99/compiled.h"
#include "tools/c99/constants.h"
#include "tools/c99/graph_source.h"

namespace halyard::c99 {
namespace {

using testing::HasSubstr;
using testing::Not;

// Returns a tensor of numbers between -1 and 1.
Tensor numbers(const Shape &shape, uint64_t seed) {
    Tensor t = Tensor::empty(shape, DType::f32);
    const Random random(seed, 0);
    for (int64_t i = 0; i < t.elements(); i++)
        static_cast<float *>(t.raw())[i] = float(random.below(uint64_t(i), 2001)) / 1000 - 1;
    return t;
}

// A function of one tensor as a graph, with what it gives for x.
struct Captured {
    template<class F> Captured(const F &f, const Shape &shape) : x(numbers(shape, 3)) {
        list_kit_ops();
        graph::Capture capture("call", {x});
        expected = capture.run(
            [&](std::span<const Tensor> in) { return std::vector<Tensor>{f(in[0])}; })[0];
        EXPECT_EQ(capture.reason(), "");
        graph = capture.take();
        graph::run_passes(graph);
        fold_constants(graph);
    }

    CallSource source(const FusedGraph &g, int lanes = 1) const {
        const auto tensor = [](const std::string &name, int rank) {
            std::string s = name + "[";
            for (int d = 0; d < rank; d++)
                s += (d ? "," : "") + name + std::to_string(d);
            return s + "]";
        };
        const Signature signature("call", tensor("x", x.shape().rank()) + " -> " +
                                              tensor("y", expected.shape().rank()));
        return source_of(g, signature, {{-1, 0, x.shape(), x.strides(), x.dtype()}}, "call", lanes);
    }
    Tensor run(const CallSource &call) const {
        const Compiled compiled(unit_of({call}, ""));
        Tensor y = Tensor::empty(expected.shape(), DType::f32);
        compiled.get<void(const void *, void *)>("call")(x.raw(), y.raw());
        return y;
    }

    Tensor x, expected;
    graph::Graph graph;
};

double largest_difference(const Tensor &a, const Tensor &b) {
    double most = 0;
    for (int64_t i = 0; i < a.elements(); i++) {
        most = std::max(most, std::abs(double(static_cast<const float *>(a.raw())[i]) -
                                       double(static_cast<const float *>(b.raw())[i])));
    }
    return most;
}

// Expects that fusing leaves this many nodes and changes no bit. Returns the fused source.
CallSource expect_fused(const Captured &c, size_t nodes) {
    const FusedGraph g = fused(c.graph);
    EXPECT_EQ(g.graph.nodes.size(), nodes);
    CallSource together = c.source(g);
    const CallSource apart = c.source(not_fused(c.graph));
    const Tensor y = c.run(together);
    EXPECT_TRUE(check::same_bits(y, c.run(apart))) << together.text << apart.text;
    EXPECT_LE(largest_difference(y, c.expected), 1e-5) << together.text;
    EXPECT_LE(together.arena_bytes, apart.arena_bytes);
    return together;
}

TEST(Fused, ConvolutionNormalisationActivationAndSumAreOneLoop) {
    const nn::Conv2d conv(3, 3, 3, {.pad_mode = F::PadMode::pad, .padding = 1});
    const nn::BatchNorm2d norm(3);
    const nn::ReLU6 relu6;
    const Captured c([&](const Tensor &x) { return relu6(norm(conv(x))) + x; }, {1, 3, 9, 9});
    const CallSource call = expect_fused(c, 1);
    EXPECT_EQ(call.arena_bytes, 0);
    EXPECT_THAT(call.text, HasSubstr("call_1_conv2d_normalize_kernel_relu6_add("));
}

TEST(Fused, OperandsAreBroadcastOverMergedDimensions) {
    const Tensor b = numbers({5, 7}, 4), row = numbers({7}, 5), column = numbers({4, 1}, 6);
    const Captured c([&](const Tensor &x) { return F::relu((F::matmul(x, b) + row) * column); },
                     {4, 5});
    expect_fused(c, 1);
    // A sum of equal shapes has one dimension, which `middle` isn't a vector of.
    const Tensor cube = numbers({2, 3, 4}, 7), middle = numbers({3, 1}, 8);
    const Captured d([&](const Tensor &x) { return F::relu((x + cube) * middle); }, {2, 3, 4});
    expect_fused(d, 2);
}

// A one-dimensional convolution is one of images of height 1, and its sums take their shape after.
TEST(Fused, ResultsOfAnotherShape) {
    const nn::Conv1d conv(3, 4, 3, {.stride = 2, .pad_mode = F::PadMode::valid, .has_bias = true});
    const nn::ReLU relu;
    const Captured c([&](const Tensor &x) { return relu(conv(x)); }, {2, 3, 9});
    EXPECT_EQ(expect_fused(c, 1).arena_bytes, 0);
    // A vector over rows of another length doesn't fit the convolution's loops.
    const Tensor row = numbers({8}, 4);
    const Captured d([&](const Tensor &x) { return F::reshape(conv(x), {4, 8}) + row; }, {2, 3, 9});
    expect_fused(d, 2);
}

// Their scalars have one name.
TEST(Fused, StepsKeepTheirOwnScalars) {
    const Tensor b = numbers({5, 7}, 4);
    const Captured c(
        [&](const Tensor &x) {
            return F::leaky_relu(F::leaky_relu(F::matmul(x, b), 0.25) - 1, 0.5);
        },
        {4, 5});
    const CallSource call = expect_fused(c, 1);
    EXPECT_THAT(call.text, HasSubstr("0.25f"));
    EXPECT_THAT(call.text, HasSubstr("0.5f"));
}

TEST(Fused, ResultsThatTwoReadAreStored) {
    const Tensor b = numbers({5, 7}, 4);
    const Captured c(
        [&](const Tensor &x) {
            const Tensor product = F::matmul(x, b);
            return F::relu(product) * product;
        },
        {4, 5});
    expect_fused(c, 2);
}

TEST(Fused, ReductionsAreStored) {
    const Tensor b = numbers({5, 7}, 4);
    const Captured c(
        [&](const Tensor &x) { return F::relu(F::reduce_mean(F::relu(F::matmul(x, b)), {0})); },
        {4, 5});
    expect_fused(c, 2);
}

// A window of the convolution is all that a pool needs at once.
TEST(Fused, PoolsOfWindowsThatDoNotOverlap) {
    const nn::Conv2d conv(3, 4, 3, {.pad_mode = F::PadMode::valid});
    const nn::ReLU relu;
    const nn::MaxPool2d pool({.kernel_size = 2, .stride = 2});
    const Captured c([&](const Tensor &x) { return pool(relu(conv(x))) - 1; }, {2, 3, 9, 13});
    const CallSource call = expect_fused(c, 1);
    EXPECT_EQ(call.arena_bytes, 0);
    EXPECT_THAT(call.text, HasSubstr("[4];"));
}

TEST(Fused, OtherPoolsAreApart) {
    const nn::Conv2d conv(3, 4, 3, {.pad_mode = F::PadMode::valid});
    const nn::MaxPool2d overlapping({.kernel_size = 3, .stride = 2});
    const Captured c([&](const Tensor &x) { return overlapping(conv(x)); }, {1, 3, 9, 13});
    expect_fused(c, 2);
}

// Sums of neighbours are computed side by side, each in its own order.
TEST(Fused, LanesChangeNoBit) {
    const nn::Conv2d conv(16, 4, 3, {.pad_mode = F::PadMode::pad, .padding = 1});
    const nn::Conv2d pointwise(4, 4, 1, {.pad_mode = F::PadMode::valid});
    const nn::ReLU relu;
    const Captured c([&](const Tensor &x) { return relu(pointwise(relu(conv(x)))); },
                     {1, 16, 5, 24});
    const FusedGraph g = fused(c.graph);
    const CallSource alone = c.source(g), together = c.source(g, 16);
    EXPECT_THAT(alone.text, Not(HasSubstr("[12]")));
    EXPECT_THAT(together.text, HasSubstr("[12]"));  // a divisor of 24
    EXPECT_TRUE(check::same_bits(c.run(alone), c.run(together))) << together.text;
}

// What depends on weights alone is computed when the source is made.
TEST(Constants, AreFolded) {
    const Tensor a = numbers({7}, 4), b = numbers({7}, 5);
    const Captured c([&](const Tensor &x) { return x * F::relu(a + b); }, {4, 7});
    EXPECT_EQ(c.graph.nodes.size(), 1u);
    const CallSource call = expect_fused(c, 1);
    EXPECT_EQ(call.constant_bytes, 28);
    EXPECT_THAT(call.text, Not(HasSubstr("hy_maxf")));
}

TEST(Constants, ScalesOfNormalisationsJoinTheWeights) {
    const nn::Conv2d conv(4, 6, 3, {.group = 2});
    const nn::BatchNorm2d norm(6);
    norm.moving_mean.set_data(numbers({6}, 9));
    const Captured c([&](const Tensor &x) { return norm(conv(x)); }, {2, 4, 5, 5});
    graph::Graph folded = c.graph;
    EXPECT_EQ(fold_norms(folded), 1);
    const CallSource call = c.source(fused(folded));
    EXPECT_THAT(call.text, HasSubstr("_conv2d_add("));
    EXPECT_LE(largest_difference(c.run(call), c.expected), 1e-5);
    EXPECT_EQ(fold_norms(folded), 0);
}

}  // namespace
}  // namespace halyard::c99
