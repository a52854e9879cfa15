// What parameters alone determine: when it is computed again, and what is folded into it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "graph/prepare.h"
#include "graph/program.h"
#include "nn/activation.h"
#include "nn/conv.h"
#include "nn/loss.h"
#include "nn/norm.h"
#include "nn/optimizer.h"
#include "nn/wrap.h"
#include "primitives/context.h"
#include "primitives/operators.h"
#include "primitives/ops.h"
#include "primitives/random.h"
#include "registry/base/error.h"
#include "tests/graph/recorded.h"

namespace halyard {
namespace {

// A function x gain / sqrt(variance + 1) of two parameters, and its program.
struct Scaled {
    Tensor variance = tensor_of({8}, 3) * tensor_of({8}, 3);
    Tensor gain = tensor_of({8}, 5);
    Tensor x = tensor_of({4, 8}, 1);
    Computation f = [this](std::span<const Tensor> in) {
        return Tensors{in[0] * (gain * F::rsqrt(variance + 1.0))};
    };
    graph::Program program{graph_for_program(f, {x})};
    Tensor arena = graph::memory_of(std::max<size_t>(program.memory().bytes, 1));

    Scaled() = default;
    Scaled(const Scaled &) = delete;
    Scaled &operator=(const Scaled &) = delete;

    // Expects the results of the function. Returns how many prepared nodes the run computed.
    int64_t nodes_of_run() {
        const int64_t before = program.prepared_nodes();
        const Tensor got = program.run(std::span(&x, 1), arena)[0];
        EXPECT_EQ(got.to_vector<float>(), f(std::span(&x, 1))[0].to_vector<float>());
        return program.prepared_nodes() - before;
    }
};

TEST(Prepared, RunsOnceUntilAParameterChanges) {
    Scaled s;
    EXPECT_EQ(s.nodes_of_run(), 3);
    EXPECT_EQ(s.nodes_of_run(), 0);
    s.gain.assign(tensor_of({8}, 7));
    EXPECT_EQ(s.nodes_of_run(), 3);
    s.variance.fill(3);
    EXPECT_EQ(s.nodes_of_run(), 3);
    s.variance.set({2}, 8);
    EXPECT_EQ(s.nodes_of_run(), 3);
    s.gain.slice(0, 2, 5).copy();
    EXPECT_EQ(s.nodes_of_run(), 0);
    s.gain.slice(0, 2, 5).assign(Tensor::ones({3}));
    EXPECT_EQ(s.nodes_of_run(), 3);
    EXPECT_EQ(s.nodes_of_run(), 0);
}

TEST(Prepared, SeesUpdatesOfKernels) {
    Scaled s;
    s.nodes_of_run();
    const RegisteredOp &square = registry().at("square");
    dispatch_into(square, std::span(&s.gain, 1), Attrs(square.record), std::span(&s.gain, 1));
    EXPECT_EQ(s.nodes_of_run(), 3);
    EXPECT_EQ(s.nodes_of_run(), 0);
}

// Who has an address may write at any time.
TEST(Prepared, RunsInEachRunWhileAnAddressIsKnown) {
    Scaled s;
    s.nodes_of_run();
    float *const gain = s.gain.data<float>();
    EXPECT_EQ(s.nodes_of_run(), 3);
    gain[1] = 17;
    EXPECT_EQ(s.nodes_of_run(), 3);
    gain[1] = 19;
    s.gain.forget_addresses();
    EXPECT_EQ(s.nodes_of_run(), 3);
    EXPECT_EQ(s.nodes_of_run(), 0);
}

TEST(Prepared, RunsAgainAfterItsMemoryWasReleased) {
    Scaled s;
    s.nodes_of_run();
    s.program.release_prepared();
    EXPECT_EQ(s.nodes_of_run(), 3);
}

TEST(Prepared, GroupsRunOnTheirOwn) {
    const Tensor p = tensor_of({8}, 1);
    const Tensor q = tensor_of({8}, 2);
    const Computation f = [&](std::span<const Tensor> in) {
        return Tensors{in[0] * F::exp(p) + F::exp(F::tanh(q))};
    };
    const Tensor x = tensor_of({8}, 3);
    graph::Program program(graph_for_program(f, {x}));
    const Tensor arena = graph::memory_of(std::max<size_t>(program.memory().bytes, 1));
    const auto nodes_of_run = [&] {
        const int64_t before = program.prepared_nodes();
        const Tensor got = program.run(std::span(&x, 1), arena)[0];
        EXPECT_EQ(got.to_vector<float>(), f(std::span(&x, 1))[0].to_vector<float>());
        return program.prepared_nodes() - before;
    };
    EXPECT_EQ(nodes_of_run(), 3);
    p.fill(0.5);
    EXPECT_EQ(nodes_of_run(), 1);
    q.fill(0.25);
    EXPECT_EQ(nodes_of_run(), 2);
}

size_t prepared_nodes(const Computation &f, const Tensors &arguments) {
    const graph::Graph g = graph_for_program(f, arguments);
    return size_t(std::ranges::count_if(
        g.nodes, [&](const graph::Node &n) { return graph::is_prepared(g, n); }));
}

TEST(Prepared, LeavesOutWhatIsWrittenDrawnReturnedOrLarge) {
    const Tensor p = tensor_of({8}, 1);
    const Tensors x{tensor_of({8}, 2)};
    const auto written = [&](std::span<const Tensor> in) {
        const Tensor t = F::exp(p);
        p.assign(in[0]);
        return Tensors{in[0] + t};
    };
    EXPECT_EQ(prepared_nodes(written, x), 0u);
    const auto returned = [&](std::span<const Tensor> in) { return Tensors{F::exp(p), in[0] + p}; };
    EXPECT_EQ(prepared_nodes(returned, x), 0u);
    const auto large = [&](std::span<const Tensor> in) {
        return Tensors{in[0] + F::reduce_sum(p.expand({64, 8}).copy(), {0}, false)};
    };
    EXPECT_EQ(prepared_nodes(large, x), 0u);
    const auto writes_to_an_argument = [&](std::span<const Tensor> in) {
        const Tensor t = F::exp(p);
        in[0].assign(t);
        return Tensors{t + in[0]};
    };
    EXPECT_EQ(prepared_nodes(writes_to_an_argument, x), 0u);
}

// A block of a residual network.
class Block : public nn::Cell {
public:
    explicit Block(bool has_relu6 = false) : has_relu6_(has_relu6) {}
    Tensor construct(const Tensor &x) const override {
        const Tensor a = norm(conv(x));
        const Tensor b = norm2(conv2(has_relu6_ ? F::relu6(a) : F::relu(a)));
        return F::relu(b + norm3(conv3(x)));
    }
    nn::Conv2d conv = child("conv", nn::Conv2d(3, 8, 3));
    nn::BatchNorm2d norm = child("norm", nn::BatchNorm2d(8));
    nn::Conv2d conv2 = child("conv2", nn::Conv2d(8, 8, 3));
    nn::BatchNorm2d norm2 = child("norm2", nn::BatchNorm2d(8));
    nn::Conv2d conv3 = child("conv3", nn::Conv2d(3, 8, 1));
    nn::BatchNorm2d norm3 = child("norm3", nn::BatchNorm2d(8));

private:
    bool has_relu6_;
};

class FoldedNorms : public testing::Test {
protected:
    void SetUp() override {
        set_seed(7);
        testing::internal::CaptureStderr();
    }
    void TearDown() override {
        set_context({.mode = before_, .numerics = "same"});
        testing::internal::GetCapturedStderr();
    }
    const ExecutionMode before_ = get_context().mode;  // HALYARD_MODE's
};

void expect_near(const Tensor &got, const Tensor &expected) {
    const auto a = got.to_vector<double>();
    const auto b = expected.to_vector<double>();
    double largest = 1e-30;
    for (const double v : b)
        largest = std::max(largest, std::fabs(v));
    ASSERT_EQ(a.size(), b.size());
    for (size_t k = 0; k < a.size(); k++)
        ASSERT_NEAR(a[k], b[k], largest * 1e-5) << k;
}

Tensor eager(const nn::Cell &net, const Tensor &x) {
    const ExecutionMode before = get_context().mode;
    set_context({.mode = PYNATIVE_MODE});
    Tensor y = net(x);
    set_context({.mode = before});
    return y;
}

// Sets running statistics and factors that matter.
void make_uneven(const Block &net) {
    int salt = 1;
    for (const Parameter &p : net.get_parameters())
        if (p.data().rank() == 1)
            p.data().assign(F::abs(tensor_of(p.data().shape(), salt++)) + 0.3);
}

TEST_F(FoldedNorms, AreNearTheBitsOfCalls) {
    for (const bool has_relu6 : {false, true}) {
        const Block net(has_relu6);
        make_uneven(net);
        net.set_train(false);
        const Tensor x = tensor_of({2, 3, 9, 7}, 4);
        set_context({.mode = GRAPH_MODE, .numerics = "contract"});
        for (int k = 0; k < 5; k++)
            expect_near(net(x), eager(net, x));
        const std::string text = net.graphs()[0];
        EXPECT_EQ(text.find("normalize_kernel"), std::string::npos) << text;
        EXPECT_NE(text.find("conv2d_bias_add_clamp"), std::string::npos) << text;
        EXPECT_NE(text.find(has_relu6 ? "high=6" : "low=0"), std::string::npos) << text;
    }
}

TEST_F(FoldedNorms, FollowTheParameters) {
    const Block net;
    make_uneven(net);
    net.set_train(false);
    const Tensor x = tensor_of({2, 3, 9, 7}, 4);
    set_context({.mode = GRAPH_MODE, .numerics = "contract"});
    for (const Parameter &p : net.get_parameters()) {
        for (int k = 0; k < 3; k++)
            net(x);
        p.data().assign(p.data() * 1.5);
        expect_near(net(x), eager(net, x));
    }
}

TEST_F(FoldedNorms, FollowATraining) {
    const Block net;
    const nn::TrainOneStepCell step(nn::WithLossCell(net, nn::MSELoss()),
                                    nn::Momentum(net.trainable_params(), 0.05, 0.9));
    const Tensor x = tensor_of({2, 3, 9, 7}, 4);
    const Tensor target = tensor_of({2, 8, 9, 7}, 5);
    set_context({.mode = GRAPH_MODE, .numerics = "contract"});
    for (int k = 0; k < 9; k++) {
        net.set_train();
        step(x, target);
        net.set_train(false);
        expect_near(net(x), eager(net, x));
    }
}

TEST_F(FoldedNorms, NeedLeave) {
    const Block net;
    net.set_train(false);
    const Tensor x = tensor_of({2, 3, 9, 7}, 4);
    set_context({.mode = GRAPH_MODE});
    net(x);
    EXPECT_NE(net.graphs()[0].find("normalize_kernel"), std::string::npos);
    set_context({.numerics = "contract"});
    net(x);
    EXPECT_EQ(net.graphs()[0].find("normalize_kernel"), std::string::npos);
    set_context({.numerics = "same"});
    for (int k = 0; k < 5; k++)
        EXPECT_EQ(net(x).to_vector<float>(), eager(net, x).to_vector<float>());
}

TEST_F(FoldedNorms, LeaveWhatIsReadTwice) {
    const nn::Conv2d conv(3, 4, 3);
    const nn::BatchNorm2d norm(4);
    norm.set_train(false);
    const Computation f = [&](std::span<const Tensor> in) {
        const Tensor y = conv(in[0]);
        return Tensors{norm(y) + y};
    };
    set_context({.mode = PYNATIVE_MODE, .numerics = "contract"});
    const graph::Graph g = graph_for_program(f, {tensor_of({1, 3, 5, 5}, 1)});
    EXPECT_NE(text_of(g).find("normalize_kernel"), std::string::npos);
}

TEST(Numerics, IsCheckedAndSaysWhenItCounts) {
    try {
        set_context({.numerics = "fast"});
        FAIL() << "not refused";
    } catch (const AttrError &e) {
        EXPECT_STREQ(e.what(), "[context] numerics is 'fast', expected same or contract");
    }
    const ExecutionMode before = get_context().mode;
    testing::internal::CaptureStderr();
    set_context({.mode = PYNATIVE_MODE, .numerics = "contract"});
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_NE(said.find("[context] numerics contract counts from a change of mode to GRAPH_MODE"),
              std::string::npos)
        << said;
    EXPECT_EQ(get_context().numerics, "contract");
    set_context({.mode = before, .numerics = "same"});
}

}  // namespace
}  // namespace halyard
