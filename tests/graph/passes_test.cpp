// Passes: what they remove, and what they must leave. That programs after the passes give the bits
// of calls op by op is the business of graph_fuzz.
#include "graph/passes.h"

#include <gtest/gtest.h>

#include "graph/memory_plan.h"
#include "graph/program.h"
#include "graph/view.h"
#include "primitives/composites/concat.h"
#include "primitives/operators.h"
#include "primitives/ops.h"
#include "tests/graph/recorded.h"

namespace halyard {
namespace {

using graph::Graph;
using graph::Node;
using graph::View;

Graph after_passes(const Computation &f, const Tensors &arguments) {
    Graph g = recorded(f, arguments);
    graph::run_passes(g);
    return g;
}

// Returns the names of the graph's nodes: "mul add".
std::string names_of(const Graph &g) {
    std::string names;
    for (const Node &n : g.nodes)
        names += (names.empty() ? "" : " ") + n.name;
    return names;
}

std::string names_after_passes(const Computation &f, const Tensors &arguments) {
    return names_of(after_passes(f, arguments));
}

// Expects that a run of the graph gives what the function gives, to the last bit.
void expect_same_results(const Computation &f, const Tensors &arguments) {
    const Tensors expected = f(arguments);
    graph::Program program(after_passes(f, arguments));
    const Tensors got = program.run(arguments, graph::memory_of(program.memory().bytes));
    ASSERT_EQ(got.size(), expected.size());
    for (size_t k = 0; k < got.size(); k++)
        EXPECT_EQ(got[k].to_vector<float>(), expected[k].to_vector<float>()) << k;
}

const Shape shape{3, 17};

TEST(WithoutDuplicates, ComputesTheSameOnce) {
    const Computation f = [](std::span<const Tensor> x) {
        const Tensor a = F::tanh(x[0] * x[1]);
        return Tensors{a + F::exp(x[0] * x[1])};
    };
    const Tensors arguments{tensor_of(shape, 1), tensor_of(shape, 2)};
    EXPECT_EQ(names_of(recorded(f, arguments)), "mul tanh mul exp add");
    EXPECT_EQ(names_after_passes(f, arguments), "mul tanh exp add");
    expect_same_results(f, arguments);
}

TEST(WithoutDuplicates, FindsThoseThatReadDuplicates) {
    const Computation f = [](std::span<const Tensor> x) {
        return Tensors{F::exp(F::tanh(x[0])) - F::exp(F::tanh(x[0]))};
    };
    EXPECT_EQ(names_after_passes(f, {tensor_of(shape, 1)}), "tanh exp sub");
}

TEST(WithoutDuplicates, LeavesWhatReadsOrGivesSomethingElse) {
    const Computation attributes = [](std::span<const Tensor> x) {
        return Tensors{F::leaky_relu(x[0], 0.1) + F::leaky_relu(x[0], 0.1000000001)};
    };
    EXPECT_EQ(names_after_passes(attributes, {tensor_of(shape, 1)}), "leaky_relu leaky_relu add");
    // The caller may write to either result.
    const Computation outputs = [](std::span<const Tensor> x) {
        return Tensors{F::tanh(x[0]), F::tanh(x[0])};
    };
    EXPECT_EQ(names_after_passes(outputs, {tensor_of(shape, 1)}), "tanh tanh");
    // What is read has changed between.
    const Computation written = [](std::span<const Tensor> x) {
        const Tensor y = x[0] * x[0];
        const Tensor before = F::tanh(y);
        y.assign(x[1]);
        return Tensors{before + F::tanh(y)};
    };
    const Tensors arguments{tensor_of(shape, 1), tensor_of(shape, 2)};
    EXPECT_EQ(names_after_passes(written, arguments), "mul tanh copy tanh add");
    expect_same_results(written, arguments);
}

TEST(WithoutCopies, StoresPartsOfAConcatInTheirPlace) {
    const Computation f = [](std::span<const Tensor> x) {
        const Tensor all = F::concat({F::tanh(x[0]), F::exp(x[1])}, 0);
        return Tensors{F::relu(all)};
    };
    const Tensors arguments{tensor_of({3, 17}, 1), tensor_of({5, 17}, 2)};
    EXPECT_EQ(names_of(recorded(f, arguments)), "tanh exp copy copy relu");
    const Graph g = after_passes(f, arguments);
    EXPECT_EQ(names_of(g), "tanh exp relu");
    EXPECT_EQ(g.nodes[1].out[0].offset, 3 * 17 * 4);
    EXPECT_EQ(g.nodes[1].out[0].buffer, g.nodes[0].out[0].buffer);
    expect_same_results(f, arguments);
}

TEST(WithoutCopies, OthersReadAPartInItsPlace) {
    const Computation f = [](std::span<const Tensor> x) {
        const Tensor a = F::tanh(x[0]);
        const Tensor b = F::exp(a);
        return Tensors{F::concat({a, b}, 0), a + b};
    };
    EXPECT_EQ(names_after_passes(f, {tensor_of(shape, 1)}), "tanh exp add");
    expect_same_results(f, {tensor_of(shape, 1)});
}

TEST(WithoutCopies, CopiesToAPlaceWithGapsAtOnce) {
    const Computation f = [](std::span<const Tensor> x) {
        const Tensor a = x[0].transpose({1, 0}).copy();
        const Tensor b = x[1].transpose({1, 0}).copy();
        return Tensors{F::concat({a, b}, 1)};
    };
    const Tensors arguments{tensor_of({3, 17}, 1), tensor_of({5, 17}, 2)};
    EXPECT_EQ(names_of(recorded(f, arguments)), "copy copy copy copy");
    EXPECT_EQ(names_after_passes(f, arguments), "copy copy");
    expect_same_results(f, arguments);
}

TEST(WithoutCopies, LeavesTheCopyOfWhatOthersNeed) {
    // An argument is the caller's.
    const Computation argument = [](std::span<const Tensor> x) {
        return Tensors{F::concat({x[0], x[0]}, 0)};
    };
    EXPECT_EQ(names_after_passes(argument, {tensor_of(shape, 1)}), "copy copy");
    // One result in two places.
    const Computation twice = [](std::span<const Tensor> x) {
        const Tensor y = F::tanh(x[0]);
        return Tensors{F::concat({y, y}, 0)};
    };
    EXPECT_EQ(names_after_passes(twice, {tensor_of(shape, 1)}), "tanh copy");
    expect_same_results(twice, {tensor_of(shape, 1)});
    // The place has another value before, which is read.
    const Computation used = [](std::span<const Tensor> x) {
        const Tensor place = x[0] * x[1];
        const Tensor made = F::tanh(x[0]);
        const Tensor before = F::exp(place);
        place.assign(made);
        return Tensors{place + before};
    };
    const Tensors arguments{tensor_of(shape, 1), tensor_of(shape, 2)};
    EXPECT_EQ(names_after_passes(used, arguments), "mul tanh exp copy add");
    expect_same_results(used, arguments);
}

// A place that is taken early, for a small part of it, is memory that nobody else has.
TEST(WithoutCopies, NeverTakeMoreMemory) {
    const Computation f = [](std::span<const Tensor> x) {
        const Tensor small = F::tanh(x[0]);
        Tensor large = x[1];
        for (int k = 0; k < 3; k++)
            large = F::exp(large);
        const Tensor few = F::reduce_sum(large, {0}, true);
        return Tensors{F::relu(F::concat({small, few.expand({16, 17}).copy()}, 0))};
    };
    const Tensors arguments{tensor_of({1, 17}, 1), tensor_of({16, 17}, 2)};
    Graph g = recorded(f, arguments);
    graph::find_lifetimes(g);
    const size_t before = graph::plan_memory(g, true).lower_bound;
    graph::run_passes(g);
    EXPECT_LE(graph::plan_memory(g, true).lower_bound, before);
    EXPECT_EQ(names_of(g), "tanh exp exp exp reduce_sum copy copy relu");
    expect_same_results(f, arguments);
}

// Returns how many temporaries' memory the graph takes, of tensors of one size.
size_t tensors_in_memory(const Computation &f, const Tensors &arguments) {
    Graph g = after_passes(f, arguments);
    graph::find_lifetimes(g);
    expect_same_results(f, arguments);
    return graph::plan_memory(g, true).bytes / size_t(arguments[0].elements() * 4);
}

TEST(InPlace, ElementwiseResultsLieOnWhatIsReadNoMore) {
    const Tensors x{tensor_of({16, 16}, 1), tensor_of({16, 16}, 2)};
    const auto chain = [](std::span<const Tensor> in) {
        const Tensor t = F::exp(F::tanh(in[0] * in[1]));
        return Tensors{F::reduce_sum(t * t, {0, 1}, false)};
    };
    EXPECT_EQ(tensors_in_memory(chain, x), 1u);
}

TEST(InPlace, NeverWhereTheInputIsReadOtherwiseOrLater) {
    const Tensors x{tensor_of({16, 16}, 1), tensor_of({16, 16}, 2)};
    const auto later = [](std::span<const Tensor> in) {
        const Tensor t = in[0] * in[1];
        return Tensors{F::reduce_sum(F::exp(t), {0}, false), F::reduce_sum(t, {0}, false)};
    };
    EXPECT_EQ(tensors_in_memory(later, x), 2u);
    const auto transposed = [](std::span<const Tensor> in) {
        const Tensor t = in[0] * in[1];
        return Tensors{F::reduce_sum(t + t.transpose({1, 0}), {0}, false)};
    };
    EXPECT_EQ(tensors_in_memory(transposed, x), 2u);
    const auto reduced = [](std::span<const Tensor> in) {
        return Tensors{F::reduce_sum(F::softmax(in[0] * in[1], 1), {0}, false)};
    };
    EXPECT_EQ(tensors_in_memory(reduced, x), 2u);
}

TEST(InPlace, CostsNoMemory) {
    Graph g = after_passes(
        [](std::span<const Tensor> in) {
            const Tensor few = F::reduce_sum(in[0], {0}, true);
            const Tensor many = few.expand({16, 16}).copy();
            return Tensors{F::reduce_sum(F::exp(many) + F::tanh(few), {0, 1}, false)};
        },
        {tensor_of({16, 16}, 1)});
    graph::find_lifetimes(g);
    EXPECT_LE(graph::plan_memory(g, true).bytes, graph::plan_memory(g, false).bytes);
    EXPECT_LE(graph::plan_memory(g, true).lower_bound, graph::plan_memory(g, false).lower_bound);
}

View view_of(int64_t offset, const Shape &extents, const Shape &strides) {
    return {0, offset, extents, strides, DType::f32};
}

TEST(Views, OfPartsThatLieBesideEachOtherDoNotOverlap) {
    const View left = view_of(0, {16, 64}, {192, 1});
    const View middle = view_of(256, {16, 64}, {192, 1});
    const View wide = view_of(512, {16, 65}, {192, 1});  // its rows end in the next row
    EXPECT_FALSE(graph::may_overlap(left, middle));
    EXPECT_TRUE(graph::may_overlap(left, wide));
    EXPECT_FALSE(graph::may_overlap(middle, view_of(512, {4, 4, 64}, {768, 192, 1})));
    EXPECT_TRUE(graph::may_overlap(left, view_of(0, {64}, {1})));
    EXPECT_FALSE(graph::may_overlap(view_of(0, {64}, {1}), view_of(256, {64}, {1})));
    EXPECT_TRUE(graph::may_overlap(view_of(0, {4}, {16}), view_of(4, {64}, {1})));
}

}  // namespace
}  // namespace halyard
