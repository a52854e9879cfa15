#include "graph/replay.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "graph/passes.h"
#include "nn/activation.h"
#include "nn/basic.h"
#include "nn/conv.h"
#include "nn/dense.h"
#include "nn/embedding.h"
#include "nn/loss.h"
#include "nn/norm.h"
#include "nn/optimizer.h"
#include "nn/pooling.h"
#include "nn/sequential.h"
#include "nn/wrap.h"
#include "primitives/context.h"
#include "primitives/operators.h"
#include "primitives/ops.h"
#include "primitives/random.h"
#include "registry/base/error.h"
#include "registry/base/temporary_folder.h"
#include "registry/tensor/memory.h"

namespace halyard {
namespace {

class GraphMode : public testing::Test {
protected:
    void TearDown() override { set_context({.mode = before_}); }
    const ExecutionMode before_ = get_context().mode;  // HALYARD_MODE's
};

// A net with what a training step may have: convolutions, batch norm with its running statistics,
// pooling, a residual, dropout, and a product.
class SmallNet : public nn::Cell {
public:
    SmallNet() = default;
    Tensor construct(const Tensor &x) const override {
        const Tensor a = F::relu(norm(conv(x)));
        const Tensor b = a + F::relu(conv2(a));
        const Tensor p = pool(b);
        return dense(dropout(flatten(p)));
    }

private:
    nn::Conv2d conv = child("conv", nn::Conv2d(1, 4, 3));
    nn::BatchNorm2d norm = child("norm", nn::BatchNorm2d(4));
    nn::Conv2d conv2 = child("conv2", nn::Conv2d(4, 4, 3));
    nn::MaxPool2d pool = child("pool", nn::MaxPool2d({.kernel_size = 2, .stride = 2}));
    nn::Dropout dropout = child("dropout", nn::Dropout(0.25));
    nn::Flatten flatten;
    nn::Dense dense = child("dense", nn::Dense(4 * 4 * 4, 3));
};

struct Batch {
    Tensor data, label;
};
Batch batch_of(int rows, int step) {
    std::vector<float> x;
    std::vector<int32_t> y;
    for (int k = 0; k < rows * 64; k++)
        x.push_back(float((k * 37 + step * 11) % 101) / 101 - 0.5F);
    for (int k = 0; k < rows; k++)
        y.push_back((k + step) % 3);
    return {Tensor::from(x, {rows, 1, 8, 8}), Tensor::from(y, {rows})};
}

// What a training leaves: the losses, and the parameters' elements.
std::vector<std::vector<float>> trained(ExecutionMode mode, int steps) {
    set_context({.mode = mode});
    set_seed(5);
    const SmallNet net;
    net.set_train();
    const nn::SoftmaxCrossEntropyWithLogits loss(true, "mean");
    const nn::Momentum optimizer(net.trainable_params(), 0.05, 0.9);
    const nn::TrainOneStepCell step(nn::WithLossCell(net, loss), optimizer);
    std::vector<std::vector<float>> all;
    for (int k = 0; k < steps; k++) {
        const Batch b = batch_of(k % 5 == 4 ? 2 : 6, k);
        all.push_back(step(b.data, b.label).to_vector<float>());
    }
    for (const Parameter &p : net.get_parameters())
        all.push_back(p.data().to_vector<float>());
    if (mode == GRAPH_MODE) {
        EXPECT_EQ(step.step_graphs().size(), 2u);
    }
    return all;
}

TEST_F(GraphMode, TrainsToTheSameBits) {
    EXPECT_EQ(trained(PYNATIVE_MODE, 23), trained(GRAPH_MODE, 23));
}

TEST_F(GraphMode, SaysWhatItCaptured) {
    set_context({.mode = GRAPH_MODE});
    const SmallNet net;
    const Batch b = batch_of(6, 0);
    const Tensor eager = net(b.data);
    ASSERT_EQ(net.graphs().size(), 1u);
    const std::string text = net.graphs()[0];
    EXPECT_NE(text.find("graph SmallNet {"), std::string::npos) << text;
    EXPECT_NE(text.find("= relu("), std::string::npos) << text;
    EXPECT_NE(text.find("# SmallNet/dense-Dense"), std::string::npos) << text;
    for (int k = 0; k < 10; k++)
        EXPECT_EQ(net(b.data).to_vector<float>(), eager.to_vector<float>());
}

// Returns the files of a folder, by name.
std::map<std::string, std::string> files_in(const std::filesystem::path &folder) {
    std::map<std::string, std::string> files;
    for (const auto &entry : std::filesystem::directory_iterator(folder)) {
        std::ifstream in(entry.path());
        files[entry.path().filename().string().substr(sizeof "captured_0000")] = {
            std::istreambuf_iterator<char>(in), {}};
    }
    return files;
}

TEST_F(GraphMode, SavesGraphsAfterEachPass) {
    const TemporaryFolder folder("graphs");
    const SmallNet net;
    const Batch b = batch_of(6, 0);
    set_context(
        {.mode = GRAPH_MODE, .save_graphs = true, .save_graphs_path = folder.path.string()});
    net(b.data);
    set_context({.save_graphs = false});
    auto files = files_in(folder.path);
    ASSERT_EQ(files.size(), 2 * (1 + graph::passes().size() + graph::passes_of_programs().size()));
    const std::string text = files["0_recorded.ir"];
    EXPECT_NE(text.find("= parameter conv.weight : f32[4,1,3,3]"), std::string::npos) << text;
    EXPECT_NE(text.find("= argument 0 : f32[6,1,8,8]"), std::string::npos) << text;
    const std::string picture = files["1_without_dead_nodes.dot"];
    EXPECT_TRUE(picture.starts_with("digraph \"SmallNet\" {")) << picture;
    EXPECT_NE(picture.find("label=\"SmallNet/dense-Dense\""), std::string::npos) << picture;
    EXPECT_NE(picture.find("parameter dense.weight : f32[3,64]"), std::string::npos) << picture;
    EXPECT_EQ(files.count("2_with_constants.ir"), 1u);
}

TEST_F(GraphMode, RunsAllocateOnlyWhatTheyReturn) {
    set_context({.mode = GRAPH_MODE});
    const SmallNet net;
    const Batch b = batch_of(6, 0);
    for (int k = 0; k < 4; k++)
        net(b.data);
    const int64_t before = memory::stats().allocations;
    const Tensor y = net(b.data);  // the fifth call is not recorded
    const int64_t scratch = 4;     // of kernels
    EXPECT_LE(memory::stats().allocations - before, 1 + scratch);
}

TEST_F(GraphMode, ResultsStayWhatTheyWere) {
    set_context({.mode = GRAPH_MODE});
    const SmallNet net;
    std::vector<Tensor> results;
    std::vector<std::vector<float>> values;
    for (int k = 0; k < 12; k++) {
        results.push_back(net(batch_of(6, k).data));
        values.push_back(results.back().to_vector<float>());
    }
    for (size_t k = 0; k < results.size(); k++)
        EXPECT_EQ(results[k].to_vector<float>(), values[k]);
}

TEST_F(GraphMode, SeesTrainingSwitchedOff) {
    const SmallNet net;
    const Batch b = batch_of(6, 3);
    const std::vector<float> evaluated = net(b.data).to_vector<float>();
    set_context({.mode = GRAPH_MODE});
    for (int k = 0; k < 5; k++)
        EXPECT_EQ(net(b.data).to_vector<float>(), evaluated);
    net.set_train();
    EXPECT_NE(net(b.data).to_vector<float>(), evaluated);
}

TEST_F(GraphMode, StaysCapturedWhenOtherCellsAreMade) {
    set_context({.mode = GRAPH_MODE});
    const SmallNet net;
    const Batch b = batch_of(6, 3);
    for (int k = 0; k < 5; k++) {
        const nn::WithEvalCell evaluation(net, nn::AnyCell());
        net(b.data);
    }
    EXPECT_EQ(net.graphs().size(), 1u);
}

TEST_F(GraphMode, SeesAppendedCells) {
    set_context({.mode = GRAPH_MODE});
    nn::SequentialCell cells({nn::Dense(2, 2), nn::ReLU()});
    const Tensor x = Tensor::full({1, 2}, 3);
    for (int k = 0; k < 3; k++)
        cells(x);
    cells.append(nn::Tanh());
    EXPECT_LE(cells(x).at({0, 0}), 1);
    EXPECT_EQ(cells.graphs().size(), 2u);
}

TEST_F(GraphMode, CapturesOnceForEachSwitch) {
    set_context({.mode = GRAPH_MODE});
    const SmallNet net;
    const Batch b = batch_of(6, 3);
    for (int k = 0; k < 5; k++) {
        net.set_train(k % 2 == 0);
        net(b.data);
    }
    EXPECT_EQ(net.graphs().size(), 2u);
}

// A cell that adds a tensor which is no parameter.
class Shifted : public nn::Cell {
public:
    std::shared_ptr<Tensor> shift = std::make_shared<Tensor>(Tensor::ones({3}));
    std::shared_ptr<double> factor = std::make_shared<double>(2);
    Tensor construct(const Tensor &x) const override { return x * *factor + *shift; }
};

TEST_F(GraphMode, SeesATensorThatWasReplaced) {
    set_context({.mode = GRAPH_MODE});
    const Shifted cell;
    const Tensor x = Tensor::ones({3});
    for (int k = 0; k < 7; k++)
        EXPECT_EQ(cell(x).to_vector<float>(), std::vector<float>(3, 3));
    *cell.shift = Tensor::full({3}, 10);
    EXPECT_EQ(cell(x).to_vector<float>(), std::vector<float>(3, 12));
    cell.shift->set({1}, 20);
    EXPECT_EQ(cell(x).to_vector<float>(), (std::vector<float>{12, 22, 12}));
}

TEST_F(GraphMode, RefusesAGraphThatCodeChanges) {
    set_context({.mode = GRAPH_MODE});
    const Shifted cell;
    const Tensor x = Tensor::ones({3});
    for (int k = 0; k < 3; k++)
        cell(x);
    *cell.factor = 5;
    try {
        cell(x);  // the fourth call is recorded again
        FAIL() << "not refused";
    } catch (const GraphError &e) {
        const std::string what = e.what();
        EXPECT_TRUE(what.starts_with("[graph] Shifted, call 4: ")) << what;
        EXPECT_NE(what.find("a constant has other elements"), std::string::npos) << what;
    }
    EXPECT_EQ(cell(x).to_vector<float>(), std::vector<float>(3, 6));
}

// A cell whose next op depends on an element.
class Branching : public nn::Cell {
public:
    Tensor construct(const Tensor &x) const override {
        return F::reduce_sum(x).item() > 0 ? F::relu(x) : F::neg(x);
    }
};

TEST_F(GraphMode, RunsOpByOpWhatTheHostDecides) {
    set_context({.mode = GRAPH_MODE});
    const Branching cell;
    const Tensor up = Tensor::ones({2});
    const Tensor down = Tensor::full({2}, -1);
    testing::internal::CaptureStderr();
    for (int k = 0; k < 5; k++) {
        EXPECT_EQ(cell(up).to_vector<float>(), std::vector<float>(2, 1));
        EXPECT_EQ(cell(down).to_vector<float>(), std::vector<float>(2, 1));
    }
    const std::string said = testing::internal::GetCapturedStderr();
    const std::string message = "[graph] Branching runs op by op: the host reads what a kernel "
                                "computes in Branching";
    EXPECT_NE(said.find(message), std::string::npos) << said;
    EXPECT_EQ(said.find(message), said.rfind(message)) << said;
    EXPECT_TRUE(cell.graphs().empty());
}

TEST_F(GraphMode, RunsHooks) {
    set_context({.mode = GRAPH_MODE});
    const nn::ReLU cell;
    const Tensor x = Tensor::ones({2});
    for (int k = 0; k < 3; k++)
        cell(x);
    int calls = 0;
    const nn::HookHandle handle = cell.register_forward_hook(
        [&](const nn::Cell &, nn::Tensors, nn::Tensors) {
            calls++;
            return std::vector<Tensor>();
        });
    for (int k = 0; k < 5; k++)
        cell(x);
    EXPECT_EQ(calls, 5);
    handle.remove();
    cell(x);
    EXPECT_EQ(calls, 5);
}

TEST_F(GraphMode, ChecksLabelsInEveryRun) {
    set_context({.mode = GRAPH_MODE});
    const nn::Embedding cell(4, 2);
    const Tensor good = Tensor::from(std::vector<int32_t>{0, 3}, {2});
    const Tensor bad = Tensor::from(std::vector<int32_t>{0, 4}, {2});
    for (int k = 0; k < 6; k++)
        cell(good);
    EXPECT_EQ(cell.graphs().size(), 1u);
    try {
        cell(bad);
        FAIL() << "not refused";
    } catch (const ShapeError &e) {
        EXPECT_STREQ(e.what(), "[embedding] index 1 is 4, expected -4 to 3");
    }
    EXPECT_EQ(cell(good).shape(), Shape({2, 2}));
}

TEST_F(GraphMode, DrawsNewRandomNumbersInEveryRun) {
    const nn::Dropout cell(0.5);
    cell.set_train();
    const Tensor x = Tensor::ones({64});
    const auto drawn = [&](ExecutionMode mode) {
        set_context({.mode = mode});
        set_seed(3);
        std::vector<std::vector<float>> all;
        for (int k = 0; k < 9; k++)
            all.push_back(cell(x).to_vector<float>());
        return all;
    };
    const auto graph = drawn(GRAPH_MODE);
    EXPECT_EQ(drawn(PYNATIVE_MODE), graph);
    EXPECT_NE(graph[7], graph[8]);
}

TEST_F(GraphMode, KeepsABoundedNumberOfPrograms) {
    set_context({.mode = GRAPH_MODE});
    const nn::ReLU cell;
    for (int n = 1; n <= int(graph::Replay::most_programs) + 9; n++)
        cell(Tensor::ones({n}));
    EXPECT_EQ(cell.graphs().size(), graph::Replay::most_programs);
}

TEST_F(GraphMode, ProgramsShareTheirMemory) {
    set_context({.mode = GRAPH_MODE});
    const SmallNet net;
    const auto run_all = [&] {
        for (int rows = 30; rows > 0; rows--)
            for (int k = 0; k < 3; k++)
                net(batch_of(rows, k).data);
    };
    net(batch_of(30, 0).data);
    net(batch_of(30, 0).data);
    net(batch_of(30, 0).data);
    const int64_t with_one = memory::stats().live_bytes;
    run_all();
    EXPECT_EQ(net.graphs().size(), 30u);
    EXPECT_LE(memory::stats().live_bytes, with_one + 4096);
}

// Notes the memory in use when it has made five large temporaries, in each call that isn't
// replayed.
class LargeNet : public nn::Cell {
public:
    explicit LargeNet(std::vector<int64_t> &live_bytes) : live_bytes_(live_bytes) {}
    Tensor construct(const Tensor &x) const override {
        const std::vector<Tensor> parts{F::exp(x), F::sin(x), F::cos(x), F::tanh(x), F::square(x)};
        live_bytes_.push_back(memory::stats().live_bytes);
        Tensor sum = parts[0];
        for (const Tensor &part : parts)
            sum = sum + part;
        return F::reduce_mean(sum);
    }

private:
    std::vector<int64_t> &live_bytes_;
};

TEST_F(GraphMode, KeepsNoLargeArenaBesideARecordedCall) {
    set_context({.mode = GRAPH_MODE});
    std::vector<int64_t> live_bytes;
    const LargeNet net(live_bytes);
    const Tensor x = Tensor::ones({int64_t(2) << 20});
    const Tensor other = Tensor::ones({(int64_t(2) << 20) - 1});
    for (int k = 0; k < 9; k++)
        net(x);
    EXPECT_LT(memory::stats().pooled_bytes, int64_t(x.bytes()));
    net(other);
    ASSERT_GE(live_bytes.size(), 4u);
    constexpr int64_t bookkeeping = 1 << 20;
    for (const int64_t bytes : live_bytes)
        EXPECT_LE(bytes, live_bytes[0] + bookkeeping);
}

TEST_F(GraphMode, ReturnsItsArgument) {
    set_context({.mode = GRAPH_MODE});
    const nn::Identity cell;
    for (int k = 0; k < 5; k++) {
        const Tensor x = Tensor::full({2}, k);
        EXPECT_EQ(cell(x).to_vector<float>(), std::vector<float>(2, float(k)));
    }
}

}  // namespace
}  // namespace halyard
