// Regions of graphs and their kernels. Kernels are compiled by the command `halyard`.
#include <gtest/gtest.h>

#include <cstdlib>

#include "graph/capture.h"
#include "graph/fused_kernels.h"
#include "graph/passes.h"
#include "graph/region.h"
#include "graph/replay.h"
#include "nn/cell.h"
#include "primitives/autograd/tape.h"
#include "primitives/context.h"
#include "primitives/operators.h"
#include "primitives/ops.h"

namespace halyard {
namespace {

using graph::Region;
using Function = graph::Replay::Function;

std::vector<float> numbers(int64_t count, int salt) {
    std::vector<float> v;
    for (int64_t k = 0; k < count; k++)
        v.push_back(float((k * 37 + salt * 11) % 101) / 50 - 1);
    return v;
}
Tensor tensor_of(const Shape &shape, int salt) {
    return Tensor::from(numbers(shape.elements(), salt), shape);
}

graph::Graph graph_of(const Function &f, const std::vector<Tensor> &arguments) {
    graph::Capture capture("f", arguments);
    capture.run(f);
    EXPECT_EQ(capture.reason(), "");
    graph::Graph g = capture.take();
    graph::run_passes(g);
    return g;
}

// Returns "BODY -> OUTPUTS" of each region.
std::vector<std::string> regions_of(const Function &f, const std::vector<Tensor> &arguments) {
    std::vector<std::string> all;
    for (const Region &r : graph::find_regions(graph_of(f, arguments))) {
        std::string text = r.body + " ->";
        for (const std::string &output : r.outputs)
            text += " " + output;
        all.push_back(text);
    }
    return all;
}

const Shape shape{3, 17};

TEST(Regions, AreNeighbouringElementwiseCalls) {
    const Function f = [](std::span<const Tensor> x) {
        return std::vector<Tensor>{F::tanh(x[0] * x[1]) + x[0]};
    };
    EXPECT_EQ(regions_of(f, {tensor_of(shape, 1), tensor_of({17}, 2)}),
              std::vector<std::string>{"t0 = mul(i0, i1); t1 = tanh(t0); t2 = add(t1, i0) -> t2"});
}

TEST(Regions, WriteWhatOthersRead) {
    const Function f = [](std::span<const Tensor> x) {
        const Tensor y = F::exp(F::neg(x[0]));
        const Tensor sum = F::reduce_sum(y);  // waits for y, and the square mustn't hold it up
        return std::vector<Tensor>{F::square(y), sum};
    };
    EXPECT_EQ(regions_of(f, {tensor_of(shape, 1)}),
              std::vector<std::string>{"t0 = neg(i0); t1 = exp(t0) -> t1"});
    const Function g = [](std::span<const Tensor> x) {
        const Tensor y = F::exp(F::neg(x[0]));
        const Tensor z = F::square(y);
        return std::vector<Tensor>{z, F::reduce_sum(y)};
    };
    EXPECT_EQ(regions_of(g, {tensor_of(shape, 1)}),
              std::vector<std::string>{"t0 = neg(i0); t1 = exp(t0); t2 = square(t1) -> t1 t2"});
}

TEST(Regions, EndWhereShapesChangeAndWhereOtherOpsStand) {
    const Function f = [](std::span<const Tensor> x) {
        const Tensor small = F::exp(F::neg(x[1]));                // of another shape
        const Tensor sum = F::reduce_sum(F::tanh(x[0] * small));  // not elementwise
        return std::vector<Tensor>{F::relu(sum)};
    };
    EXPECT_EQ(regions_of(f, {tensor_of(shape, 1), tensor_of({17}, 2)}),
              (std::vector<std::string>{"t0 = neg(i0); t1 = exp(t0) -> t1",
                                        "t0 = mul(i0, i1); t1 = tanh(t0) -> t1"}));
}

TEST(Regions, MayEndWithAReduction) {
    const Function f = [](std::span<const Tensor> x) {
        return std::vector<Tensor>{F::reduce_mean(F::square(x[0] - x[1]), {1}, true)};
    };
    EXPECT_EQ(regions_of(f, {tensor_of(shape, 1), tensor_of(shape, 2)}),
              std::vector<std::string>{"t0 = sub(i0, i1); t1 = square(t0); t2 = reduce_mean(t1) "
                                       "axis=1 keep_dims=1 -> t2"});
    const Function also_read = [](std::span<const Tensor> x) {
        const Tensor y = F::square(F::neg(x[0]));
        const Tensor sum = F::reduce_sum(y);
        return std::vector<Tensor>{sum, y};
    };
    EXPECT_EQ(regions_of(also_read, {tensor_of(shape, 1)}),
              std::vector<std::string>{"t0 = neg(i0); t1 = square(t0) -> t1"});
}

TEST(Regions, DoNotMoveReadsPastWrites) {
    const Tensor state = tensor_of(shape, 5);
    const Function f = [&](std::span<const Tensor> x) {
        const Tensor before = x[0] * state;
        state.assign(x[0]);
        return std::vector<Tensor>{F::tanh(before)};
    };
    EXPECT_TRUE(regions_of(f, {tensor_of(shape, 1)}).empty());
}

TEST(Regions, NameTheScalarsOfEachCall) {
    const Function f = [](std::span<const Tensor> x) {
        return std::vector<Tensor>{F::leaky_relu(F::leaky_relu(x[0], 0.25), 0.5)};
    };
    const auto regions = graph::find_regions(graph_of(f, {tensor_of(shape, 1)}));
    ASSERT_EQ(regions.size(), 1u);
    EXPECT_EQ(regions[0].numbers, (std::vector<double>{0.25, 0.5}));
    EXPECT_NE(regions[0].text().find("f32[3,17]"), std::string::npos) << regions[0].text();
}

class FusedKernels : public testing::Test {
protected:
    void SetUp() override {
        set_context({.mode = GRAPH_MODE, .enable_graph_kernel = true});
        graph::set_least_fused_ratio(0);
    }
    void TearDown() override {
        set_context({.mode = before_, .enable_graph_kernel = false});
        graph::set_least_fused_ratio(1.03);
    }
    const ExecutionMode before_ = get_context().mode;

    // Calls the function as often as kernels need, and compares each result with the function's
    // own. Returns the text of its graph.
    static std::string run(const Function &f, const std::function<std::vector<Tensor>(int)> &in) {
        graph::Replay replay("f");
        for (int call = 0; call < 7; call++) {
            const std::vector<Tensor> arguments = in(call);
            const std::vector<Tensor> got = replay.run(arguments, {}, f);
            const std::vector<Tensor> expected = f(arguments);
            EXPECT_EQ(got.size(), expected.size());
            for (size_t k = 0; k < expected.size(); k++)
                EXPECT_EQ(got[k].to(DType::f64).to_vector<double>(),
                          expected[k].to(DType::f64).to_vector<double>())
                    << "result " << k << " of call " << call;
            if (call == 2) graph::wait_for_fused_kernels();
        }
        return replay.texts().at(0);
    }
};

TEST_F(FusedKernels, HaveTheBitsOfTheirCalls) {
    // Contracted to a multiplication with addition, or with a cancelled sum, bits would differ.
    const Function f = [](std::span<const Tensor> x) {
        const Tensor y = x[0] * x[1] + x[2];
        return std::vector<Tensor>{(y + x[0]) - x[0], y / x[1] * x[1]};
    };
    for (const DType t : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
        const std::string text = run(f, [&](int call) {
            return std::vector<Tensor>{tensor_of({5, 37}, call).to(t), tensor_of({37}, 3).to(t),
                                       tensor_of({5, 1}, call + 1).to(t)};
        });
        EXPECT_NE(text.find("= fused_"), std::string::npos) << text;
        EXPECT_EQ(text.find("  %3 = "), std::string::npos) << text;  // the calls are gone
    }
}

TEST_F(FusedKernels, ReduceWithTheBitsOfTheirCalls) {
    // The normalisation by the root of the mean square, composed of primitives.
    const Function f = [](std::span<const Tensor> x) {
        const Tensor mean = F::reduce_mean(F::square(x[0] + x[1]), {1}, true);
        return std::vector<Tensor>{x[0] * F::rsqrt(mean + 1e-5) * x[2],
                                   F::reduce_max(F::leaky_relu(x[0] * x[1], 0.3), {0})};
    };
    for (const DType t : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
        for (const int64_t columns : {int64_t(17), int64_t(1031)}) {
            const std::string text = run(f, [&](int call) {
                return std::vector<Tensor>{tensor_of({5, columns}, call).to(t),
                                           tensor_of({5, columns}, 3).to(t),
                                           tensor_of({columns}, call + 1).to(t)};
            });
            EXPECT_EQ(text.find("= square(%"), std::string::npos) << text;
            EXPECT_EQ(text.find("= leaky_relu(%"), std::string::npos) << text;
        }
    }
}

TEST_F(FusedKernels, TakeNumbersOfTheStep) {
    const Function f = [](std::span<const Tensor> x) {
        return std::vector<Tensor>{F::leaky_relu(F::elu(x[0] - x[1], 0.5), 0.3)};
    };
    const std::string text = run(f, [](int call) {
        return std::vector<Tensor>{tensor_of({64}, call), tensor_of({64}, 9)};
    });
    EXPECT_NE(text.find("= fused_"), std::string::npos) << text;
}

TEST_F(FusedKernels, AreUsedInGradients) {
    const Function f = [](std::span<const Tensor> x) {
        Tape tape;
        tape.watch(x[0]);
        const Tensor y = F::reduce_sum(F::sigmoid(x[0] * x[1]) * x[0]);
        return std::vector<Tensor>{y, tape.gradient(y, {x[0]})[0]};
    };
    const std::string text = run(f, [](int call) {
        return std::vector<Tensor>{tensor_of({7, 33}, call), tensor_of({7, 33}, 2)};
    });
    EXPECT_NE(text.find("= fused_"), std::string::npos) << text;
}

TEST_F(FusedKernels, WaitForGraphMode) {
    testing::internal::CaptureStderr();
    set_context({.mode = PYNATIVE_MODE, .enable_graph_kernel = true});
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find("[context] enable_graph_kernel counts from a change of mode to GRAPH_MODE"),
              std::string::npos)
        << said;
    EXPECT_TRUE(get_context().enable_graph_kernel);
}

TEST_F(FusedKernels, AreNotUsedWhereTheyAreNotFaster) {
    graph::set_least_fused_ratio(1000);
    const Function f = [](std::span<const Tensor> x) {
        return std::vector<Tensor>{F::abs(F::neg(x[0]))};
    };
    const std::string text = run(f, [](int call) {
        return std::vector<Tensor>{tensor_of({11, 13}, call)};
    });
    EXPECT_EQ(text.find("= fused_"), std::string::npos) << text;
    const graph::FusedResult found = graph::fused_results().back();
    EXPECT_FALSE(found.is_used);
    EXPECT_NE(found.region.find("t0 = neg(i0); t1 = abs(t0) -> t1"), std::string::npos)
        << found.region;
    EXPECT_TRUE(found.reason.starts_with("it isn't faster")) << found.reason;
}

}  // namespace
}  // namespace halyard
