// Row loops: which calls they have, and that their results have the bits of whole calls.
#include "graph/row_loops.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "graph/program.h"
#include "primitives/autograd/tape.h"
#include "primitives/operators.h"
#include "primitives/ops.h"
#include "registry/base/parallel.h"
#include "tests/graph/recorded.h"

namespace halyard {
namespace {

using graph::RowLimits;
using graph::RowLoop;

// Limits that make loops of small tensors, while it lives.
struct Limits {
    explicit Limits(const RowLimits &limits) { graph::set_row_limits(limits); }
    ~Limits() { graph::set_row_limits({}); }
    Limits(const Limits &) = delete;
    Limits &operator=(const Limits &) = delete;
};

// Returns the texts of the loops that small tensors have.
std::vector<std::string> loops_of(const Computation &f, const Tensors &arguments,
                                  int64_t tile_bytes = 1024) {
    const Limits small({.tile_bytes = tile_bytes, .fewest_tiles = 2});
    const graph::Graph g = graph_for_program(f, arguments);
    std::vector<std::string> texts;
    for (const RowLoop &loop : graph::find_row_loops(g, 1))
        texts.push_back(text_of(g, loop));
    return texts;
}

// Expects the bits of f() from its program, with tiles of this size, on several threads and in two
// runs. Returns the number of loops.
size_t expect_same_bits(const Computation &f, const Tensors &arguments, int64_t tile_bytes = 1024) {
    const Limits small({.tile_bytes = tile_bytes, .fewest_tiles = 1});
    const Tensors expected = f(arguments);
    graph::Program program(graph_for_program(f, arguments));
    const Tensor arena = graph::memory_of(std::max<size_t>(program.memory().bytes, 1));
    const int before = threads();
    for (const int n : {1, 2, 3, 1}) {
        set_threads(n);
        const Tensors got = program.run(arguments, arena);
        EXPECT_EQ(got.size(), expected.size());
        for (size_t k = 0; k < got.size(); k++) {
            EXPECT_EQ(got[k].shape(), expected[k].shape());
            EXPECT_EQ(got[k].to_vector<float>(), expected[k].to_vector<float>())
                << "output " << k << ", " << n << " threads";
        }
    }
    set_threads(before);
    return program.row_loops();
}

Tensors gated(std::span<const Tensor> x) {
    const Tensor y = x[0] * x[1] + x[2];
    return {F::relu(F::tanh(y) * x[0] + y)};
}

const Tensors gated_arguments{tensor_of({64, 40}, 1), tensor_of({40}, 2), tensor_of({64, 1}, 3)};

TEST(RowLoops, AreOfNeighbouringElementwiseCalls) {
    EXPECT_EQ(loops_of(gated, gated_arguments),
              (std::vector<std::string>{"1 of 64 rows at a time: mul, add, tanh, mul, add, relu"}));
}

TEST(RowLoops, CutRowsThatAreTooLong) {
    const Tensors long_rows{tensor_of({2, 4000}, 1), tensor_of({4000}, 2), tensor_of({2, 1}, 3)};
    const std::vector<std::string> loops = loops_of(gated, long_rows);
    ASSERT_EQ(loops.size(), 1U);
    EXPECT_EQ(loops[0].substr(0, loops[0].find(':')), "36 of 4000 rows at a time");
    EXPECT_EQ(expect_same_bits(gated, long_rows), 1U);
}

TEST(RowLoops, HaveReductionsOfLaterDimensions) {
    const Computation softmax = [](std::span<const Tensor> x) {
        const Tensor e = F::exp(x[0] - F::reduce_max(x[0], {1}, true));
        return Tensors{e / F::reduce_sum(e, {1}, true)};
    };
    const Tensors x{tensor_of({256, 40}, 1)};
    constexpr int64_t tile_bytes = 16000;
    EXPECT_EQ(loops_of(softmax, x, tile_bytes),
              (std::vector<std::string>{
                  "24 of 256 rows at a time: reduce_max, sub, exp, reduce_sum, div"}));
    EXPECT_EQ(expect_same_bits(softmax, x, tile_bytes), 1U);
}

// A reduction of few rows is another kernel's, which may add in another order.
TEST(RowLoops, HaveTheKernelsOfWholeCalls) {
    const Computation f = [](std::span<const Tensor> x) {
        return Tensors{F::reduce_sum(F::tanh(x[0] * x[0]), {1}, true)};
    };
    const Tensors x{tensor_of({256, 40}, 1)};
    EXPECT_EQ(loops_of(f, x), (std::vector<std::string>{"2 of 256 rows at a time: mul, tanh"}));
    EXPECT_EQ(loops_of(f, x, 16000),
              (std::vector<std::string>{"32 of 256 rows at a time: mul, tanh, reduce_sum"}));
}

TEST(RowLoops, EndBeforeReductionsOverRows) {
    const Computation f = [](std::span<const Tensor> x) {
        const Tensor y = F::tanh(x[0]) * x[0];
        return Tensors{y - F::reduce_mean(y, {0}, true)};
    };
    const Tensors x{tensor_of({64, 40}, 1)};
    EXPECT_EQ(loops_of(f, x), (std::vector<std::string>{"2 of 64 rows at a time: tanh, mul"}));
    EXPECT_EQ(expect_same_bits(f, x), 1U);
}

TEST(RowLoops, AreNotOfTensorsThatFitIntoTheCache) {
    const graph::Graph g = graph_for_program(gated, gated_arguments);
    EXPECT_TRUE(graph::find_row_loops(g, 1).empty());
}

TEST(RowLoops, AreOfLargeTensors) {
    const Computation rms_norm = [](std::span<const Tensor> x) {
        const Tensor mean = F::reduce_mean(F::square(x[0]), {1}, true);
        return Tensors{x[0] * F::rsqrt(mean + 1e-5) * x[1]};
    };
    const graph::Graph g = graph_for_program(rms_norm,
                                             {Tensor::ones({4096, 1024}), Tensor::ones({1024})});
    const std::vector<RowLoop> loops = graph::find_row_loops(g, 1);
    ASSERT_EQ(loops.size(), 1U);
    EXPECT_EQ(text_of(g, loops[0]),
              "42 of 4096 rows at a time: square, reduce_mean, add, rsqrt, mul, mul");
}

TEST(RowLoops, NeedMoreTilesForMoreThreads) {
    const Limits small({.tile_bytes = 1024, .fewest_tiles = 8});
    const graph::Graph g = graph_for_program(gated, gated_arguments);
    EXPECT_EQ(graph::find_row_loops(g, 8).size(), 1U);  // 64 tiles
    EXPECT_EQ(graph::find_row_loops(g, 9).size(), 0U);
}

TEST(RowLoops, TakeTheMemoryOfTheirRows) {
    const Limits small({.tile_bytes = 1024, .fewest_tiles = 1});
    const graph::Program by_rows(graph_for_program(gated, gated_arguments));
    const graph::Program whole(graph_for_program(gated, gated_arguments),
                               graph::Program::Order::as_listed);
    EXPECT_EQ(by_rows.row_loops(), 1U);
    EXPECT_EQ(by_rows.memory().bytes, 0U);
    EXPECT_EQ(whole.memory().bytes, size_t(2 * 64 * 40 * 4));
}

TEST(RowLoops, SayThemselvesInTheText) {
    const Limits small({.tile_bytes = 1024, .fewest_tiles = 1});
    const graph::Program program(graph_for_program(gated, gated_arguments));
    EXPECT_NE(program.text().find("}\n1 of 64 rows at a time: mul, add, tanh, mul, add, relu\n"),
              std::string::npos);
}

TEST(RowLoops, HaveTheBitsOfWholeCalls) {
    for (const int64_t tile_bytes : {64, 1024, 4000, 9000})
        EXPECT_EQ(expect_same_bits(gated, gated_arguments, tile_bytes), 1U) << tile_bytes;
}

TEST(RowLoops, ReadInputsThatAreTransposedOrBroadcastBetween) {
    const Computation f = [](std::span<const Tensor> x) {
        return Tensors{F::tanh(x[0] + x[1].transpose({2, 1, 0})) * x[2]};
    };
    const Tensors arguments{tensor_of({6, 7, 9}, 1), tensor_of({9, 7, 6}, 2),
                            tensor_of({6, 1, 9}, 3)};
    EXPECT_EQ(expect_same_bits(f, arguments), 1U);
    EXPECT_EQ(expect_same_bits(f, arguments, 100), 1U);
}

// What the loop computes is also read after it, as another shape, and returned.
TEST(RowLoops, WriteWhatOtherCallsRead) {
    const Computation f = [](std::span<const Tensor> x) {
        const Tensor y = F::tanh(x[0] * x[0]);
        const Tensor z = F::exp(y) + x[0];
        return Tensors{z, F::matmul(y, z.reshape({40, 64})), F::reduce_sum(y, {0}, false)};
    };
    EXPECT_EQ(expect_same_bits(f, {tensor_of({64, 40}, 1)}), 1U);
}

// Calls between that belong to no loop run before it, unless they read what it computes.
TEST(RowLoops, SkipOtherCalls) {
    const Computation f = [](std::span<const Tensor> x) {
        const Tensor y = x[0] * x[0];
        const Tensor other = F::matmul(x[1], x[1]);
        const Tensor z = F::tanh(y);
        return Tensors{z, other};
    };
    const Tensors x{tensor_of({64, 40}, 1), tensor_of({5, 5}, 2)};
    EXPECT_EQ(loops_of(f, x), (std::vector<std::string>{"2 of 64 rows at a time: mul, tanh"}));
    EXPECT_EQ(expect_same_bits(f, x), 1U);
}

TEST(RowLoops, DoNotMoveCallsPastTheirReaders) {
    const Computation f = [](std::span<const Tensor> x) {
        const Tensor y = x[0] * x[0];
        const Tensor product = F::matmul(y, x[1]);
        return Tensors{F::tanh(y), product};
    };
    EXPECT_TRUE(loops_of(f, {tensor_of({64, 40}, 1), tensor_of({40, 5}, 2)}).empty());
}

TEST(RowLoops, DoNotMoveCallsPastWritesOfTheirInputs) {
    const Computation f = [](std::span<const Tensor> x) {
        const Tensor y = x[0] * x[0];
        x[0].fill(2);
        return Tensors{F::tanh(y) * x[0]};
    };
    EXPECT_EQ(loops_of(f, {tensor_of({64, 40}, 1)}),
              (std::vector<std::string>{"1 of 64 rows at a time: tanh, mul"}));
}

TEST(RowLoops, HaveGradients) {
    const Computation f = [](std::span<const Tensor> x) {
        Tape tape;
        tape.watch(x[0]);
        const Tensor y = gated(x)[0];
        return Tensors{y, tape.gradient({y}, {x[0]}, {}, true)[0]};
    };
    EXPECT_GT(expect_same_bits(f, gated_arguments), 0U);
}

TEST(RowLoops, HaveConversions) {
    const Computation f = [](std::span<const Tensor> x) {
        const Tensor h = (x[0] * x[0]).to(DType::bf16);
        return Tensors{(F::tanh(h * h) + h).to(DType::f32)};
    };
    const Tensors x{tensor_of({61, 43}, 1)};
    EXPECT_EQ(loops_of(f, x), (std::vector<std::string>{
                                  "1 of 61 rows at a time: mul, copy, mul, tanh, add, copy"}));
    EXPECT_EQ(expect_same_bits(f, x), 1U);
    EXPECT_EQ(expect_same_bits(f, x, 5000), 1U);
}

}  // namespace
}  // namespace halyard
