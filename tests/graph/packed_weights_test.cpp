// Weights that a program packs into panels: which ones, and that products and convolutions keep
// their bits. 192 columns are full panels on every instruction set.
#include <gtest/gtest.h>

#include <algorithm>

#include "graph/prepare.h"
#include "graph/program.h"
#include "nn/dense.h"
#include "nn/loss.h"
#include "nn/optimizer.h"
#include "nn/wrap.h"
#include "primitives/context.h"
#include "primitives/operators.h"
#include "primitives/ops.h"
#include "registry/dispatch/dispatch.h"
#include "tests/graph/recorded.h"

namespace halyard {
namespace {

// Returns the numbers of products and convolutions with panels and of prepared copies.
std::pair<size_t, size_t> products_and_copies(const graph::Graph &g) {
    const auto products = std::ranges::count_if(
        g.nodes, [](const graph::Node &n) { return n.name.starts_with("panel_"); });
    const auto copies = std::ranges::count_if(g.nodes, [&](const graph::Node &n) {
        return n.kind == graph::Node::Kind::copy && graph::is_prepared(g, n);
    });
    return {size_t(products), size_t(copies)};
}

using Counts = std::pair<size_t, size_t>;

Counts packed(const Computation &f, const Tensors &arguments) {
    return products_and_copies(graph_for_program(f, arguments));
}

// Expects the bits of f() from its program, which packs one weight, in two runs.
void expect_same_bits(const Computation &f, const Tensor &x) {
    graph::Graph g = graph_for_program(f, {x});
    EXPECT_EQ(products_and_copies(g), Counts(1, 1));
    graph::Program program(std::move(g));
    const Tensor arena = graph::memory_of(std::max<size_t>(program.memory().bytes, 1));
    const Tensors expected = f(std::span(&x, 1));
    for (int run = 0; run < 2; run++) {
        const Tensors got = program.run(std::span(&x, 1), arena);
        ASSERT_EQ(got[0].shape(), expected[0].shape());
        EXPECT_EQ(got[0].to_vector<float>(), expected[0].to_vector<float>());
    }
}

TEST(PackedWeights, ProductsKeepTheirBits) {
    for (const int64_t rows : {8, 9, 33, 128}) {
        for (const int64_t terms : {1, 7, 300}) {
            for (const int64_t columns : {192, 384}) {
                SCOPED_TRACE(Shape({rows, terms, columns}).text());
                const Tensor x = tensor_of({rows, terms}, 1);
                const Tensor weight = tensor_of({columns, terms}, 2);
                const Tensor bias = tensor_of({columns}, 3);
                expect_same_bits(
                    [&](std::span<const Tensor> in) {
                        return Tensors{F::relu(F::matmul(in[0], weight, false, true))};
                    },
                    x);
                expect_same_bits(
                    [&](std::span<const Tensor> in) {
                        return Tensors{F::relu(F::dense(in[0], weight, bias))};
                    },
                    x);
            }
        }
    }
}

TEST(PackedWeights, ManyRowsAreThoseOfAllLeadingDimensions) {
    const nn::Dense dense(12, 192);
    expect_same_bits([&](std::span<const Tensor> in) { return Tensors{dense(in[0])}; },
                     tensor_of({2, 5, 12}, 1));
}

TEST(PackedWeights, OneWeightHasOnePacking) {
    const Tensor weight = tensor_of({192, 192}, 1);
    const Computation twice = [&](std::span<const Tensor> in) {
        return Tensors{F::matmul(F::matmul(in[0], weight, false, true), weight, false, true)};
    };
    EXPECT_EQ(packed(twice, {tensor_of({16, 192}, 2)}), Counts(2, 1));
}

TEST(PackedWeights, PacksAgainWhenTheWeightHasChanged) {
    const Tensor weight = tensor_of({192, 5}, 1);
    const Tensor x = tensor_of({8, 5}, 2);
    const Computation f = [&](std::span<const Tensor> in) {
        return Tensors{F::matmul(in[0], weight, false, true)};
    };
    graph::Program program(graph_for_program(f, {x}));
    const Tensor arena = graph::memory_of(std::max<size_t>(program.memory().bytes, 1));
    for (const float value : {0.5F, 0.25F}) {
        weight.fill(value);
        const Tensor got = program.run(std::span(&x, 1), arena)[0];
        EXPECT_EQ(got.to_vector<float>(), f(std::span(&x, 1))[0].to_vector<float>());
    }
    EXPECT_EQ(program.prepared_nodes(), 2);
}

TEST(PackedWeights, LeavesOtherProducts) {
    const auto product = [](const Shape &weight_shape, bool transposed, const Shape &x) {
        const Tensor weight = tensor_of(weight_shape, 1);
        const Computation f = [=](std::span<const Tensor> in) {
            return Tensors{F::matmul(in[0], weight, false, transposed)};
        };
        return packed(f, {tensor_of(x, 2)});
    };
    EXPECT_EQ(product({192, 5}, true, {8, 5}), Counts(1, 1));
    EXPECT_EQ(product({193, 5}, true, {8, 5}), Counts(0, 0));
    EXPECT_EQ(product({192, 5}, true, {7, 5}), Counts(0, 0));     // dot products
    EXPECT_EQ(product({192, 5}, true, {1025, 5}), Counts(0, 0));  // packing costs little
    EXPECT_EQ(product({5, 192}, false, {8, 5}), Counts(0, 0));
    EXPECT_EQ(product({3, 192, 5}, true, {3, 8, 5}), Counts(0, 0));

    const Computation of_arguments = [](std::span<const Tensor> in) {
        return Tensors{F::matmul(in[0], in[1], false, true)};
    };
    EXPECT_EQ(packed(of_arguments, {tensor_of({8, 5}, 1), tensor_of({192, 5}, 2)}), Counts(0, 0));
    const Tensor weight = tensor_of({192, 5}, 1);
    const Computation writes_an_argument = [&](std::span<const Tensor> in) {
        const Tensor y = F::matmul(in[0], weight, false, true);
        in[0].assign(F::exp(in[0]));
        return Tensors{y};
    };
    EXPECT_EQ(packed(writes_an_argument, {tensor_of({8, 5}, 1)}), Counts(0, 0));
    const Computation activated = [&](std::span<const Tensor> in) {
        return Tensors{F::dense(in[0], weight, Tensor::zeros({192}), F::Activation::gelu)};
    };
    EXPECT_EQ(packed(activated, {tensor_of({8, 5}, 1)}), Counts(0, 0));
}

TEST(PackedWeights, ConvolutionsKeepTheirBits) {
    for (const Shape &map :
         {Shape{1, 96, 7, 7}, {2, 100, 6, 17}, {1, 130, 14, 14}, {3, 97, 1, 32}}) {
        for (const int64_t filters : {32, 192}) {
            SCOPED_TRACE(map.text());
            const Tensor weight = tensor_of({filters, map[1], 1, 1}, 2);
            expect_same_bits(
                [&](std::span<const Tensor> in) {
                    return Tensors{F::relu(F::conv2d(in[0], weight))};
                },
                tensor_of(map, 1));
        }
    }
}

TEST(PackedWeights, ConvolutionsWithAnEpilogueKeepTheirBits) {
    const Tensor weight = tensor_of({64, 97, 1, 1}, 2);
    const Tensor bias = tensor_of({64}, 3);
    const Tensor shortcut = tensor_of({2, 64, 7, 7}, 4);
    const Tensor x = tensor_of({2, 97, 7, 7}, 1);
    const auto clamped = [](const char *name, const Tensors &in) {
        const RegisteredOp &op = registry().at(name);
        return F::exp(dispatch1(op, in, Attrs(op.record, {{"low", -0.25}, {"high", 0.5}})));
    };
    expect_same_bits(
        [&](std::span<const Tensor> in) {
            return Tensors{clamped("conv2d_bias_clamp", {in[0], weight, bias})};
        },
        x);
    expect_same_bits(
        [&](std::span<const Tensor> in) {
            return Tensors{clamped("conv2d_bias_add_clamp", {in[0], weight, bias, shortcut})};
        },
        x);
}

TEST(PackedWeights, LeavesOtherConvolutions) {
    const auto convolution = [](const Shape &x, const Shape &weight_shape,
                                const Ints &stride = {1, 1}, int64_t group = 1) {
        const Tensor weight = tensor_of(weight_shape, 1);
        const Computation f = [=](std::span<const Tensor> in) {
            return Tensors{F::conv2d(in[0], weight, stride, ops::Conv2D::PadMode::valid,
                                     {0, 0, 0, 0}, {1, 1}, group)};
        };
        return packed(f, {tensor_of(x, 2)});
    };
    EXPECT_EQ(convolution({1, 96, 7, 7}, {64, 96, 1, 1}), Counts(1, 1));
    EXPECT_EQ(convolution({1, 95, 7, 7}, {64, 95, 1, 1}), Counts(0, 0));
    EXPECT_EQ(convolution({1, 96, 7, 7}, {65, 96, 1, 1}), Counts(0, 0));
    EXPECT_EQ(convolution({1, 96, 2, 3}, {64, 96, 1, 1}), Counts(0, 0));  // another kernel
    EXPECT_EQ(convolution({1, 96, 21, 20}, {64, 96, 1, 1}), Counts(0, 0));
    EXPECT_EQ(convolution({1, 96, 7, 7}, {64, 96, 3, 3}), Counts(0, 0));
    EXPECT_EQ(convolution({1, 96, 14, 14}, {64, 96, 1, 1}, {2, 2}), Counts(0, 0));
    EXPECT_EQ(convolution({1, 192, 7, 7}, {64, 96, 1, 1}, {1, 1}, 2), Counts(0, 0));
}

TEST(PackedWeights, TrainedWeightsAreNotPacked) {
    const ExecutionMode before = get_context().mode;
    set_context({.mode = GRAPH_MODE});
    const nn::Dense dense(12, 192);
    const nn::TrainOneStepCell step(nn::WithLossCell(dense, nn::MSELoss()),
                                    nn::Momentum(dense.trainable_params(), 0.01, 0.9));
    for (int k = 0; k < 2; k++)
        step(tensor_of({16, 12}, 1), tensor_of({16, 192}, 2));
    const std::vector<std::string> graphs = step.step_graphs();
    set_context({.mode = before});
    ASSERT_FALSE(graphs.empty());
    EXPECT_NE(graphs[0].find("= matmul("), std::string::npos) << graphs[0];
    EXPECT_EQ(graphs[0].find("panel_product"), std::string::npos) << graphs[0];
}

}  // namespace
}  // namespace halyard
