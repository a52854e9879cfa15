// Tests graphs that are saved, and loaded without the class that made them.
#include "train/checkpoint/saved_graph.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "examples/lenet5/lenet5.h"
#include "graph/graph_error.h"
#include "graph/standalone.h"
#include "nn/basic.h"
#include "nn/embedding.h"
#include "nn/graph_cell.h"
#include "nn/loss.h"
#include "nn/norm.h"
#include "nn/optimizer.h"
#include "nn/sequential.h"
#include "nn/wrap.h"
#include "primitives/autograd/tape.h"
#include "primitives/composites/concat.h"
#include "primitives/context.h"
#include "primitives/operators.h"
#include "primitives/ops.h"
#include "primitives/random.h"
#include "registry/base/run_program.h"
#include "registry/base/temporary_folder.h"
#include "registry/tensor/npy.h"
#include "train/checkpoint/checkpoint.h"
#include "train/checkpoint/safetensors.h"

namespace halyard {
namespace {
namespace fs = std::filesystem;

class SavedGraph : public testing::Test {
protected:
    void SetUp() override { set_seed(3); }
    void TearDown() override { set_context({.mode = before_}); }

    // Returns the message of the error that loading the file throws; "" if it throws none.
    std::string refusal() const {
        try {
            load_graph(path);
        } catch (const Error &e) {
            return e.what();
        }
        return "";
    }
    // Saves the cell's call and returns the loaded graph.
    nn::GraphCell reloaded(const nn::Cell &cell, const std::vector<Tensor> &in) const {
        export_graph(cell, in, path);
        return nn::GraphCell(load_graph(path));
    }

    const TemporaryFolder folder{"halyard_test"};
    const std::string path = (folder.path / "net.graph").string();

private:
    const ExecutionMode before_ = get_context().mode;  // HALYARD_MODE's
};

std::string bytes_of_file(const fs::path &path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}
void put(const fs::path &path, const std::string &bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
}

void expect_same_bits(const Tensor &a, const Tensor &b) {
    ASSERT_EQ(a.shape(), b.shape());
    ASSERT_EQ(a.dtype(), b.dtype());
    const Tensor x = a.contiguous();
    const Tensor y = b.contiguous();
    EXPECT_EQ(std::memcmp(x.raw(), y.raw(), x.bytes()), 0);
}

void expect_same_bits(const std::vector<Tensor> &a, const std::vector<Tensor> &b) {
    ASSERT_EQ(a.size(), b.size());
    for (size_t k = 0; k < a.size(); k++)
        expect_same_bits(a[k], b[k]);
}

// Calls both cells three times, from the same state of the generator.
void expect_same_calls(const nn::Cell &a, const nn::Cell &b, const std::vector<Tensor> &in) {
    for (int call = 0; call < 3; call++) {
        const RngState state = get_rng_state();
        const std::vector<Tensor> expected = a.call(in);
        const RngState after = get_rng_state();
        set_rng_state(state);
        expect_same_bits(b.call(in), expected);
        EXPECT_EQ(get_rng_state(), after);
    }
}

Tensor images(int64_t n) {
    return F::normal({n, 1, 32, 32}, 0, 1);
}

// Runs a program of its own, which knows no LeNet5, with this many threads.
Tensor run_elsewhere(const std::string &path, const Tensor &x, const char *threads,
                     const char *mode) {
    const TemporaryFolder work("halyard_test");
    const std::string in = (work.path / "x.npy").string(), out = (work.path / "y.npy").string();
    save_npy(in, x);
    const Ended ended = run_program({"env", std::string("HALYARD_THREADS=") + threads,
                                     std::string("HALYARD_MODE=") + mode, HALYARD_GRAPH_RUN, path,
                                     in, out},
                                    Keep::output_and_errors);
    EXPECT_EQ(ended.status, 0) << ended.text;
    return load_npy(out);
}

TEST_F(SavedGraph, LeNet5RunsWithoutItsClass) {
    const examples::LeNet5 net;
    const Tensor x = images(5);
    const Tensor expected = net(x);
    export_graph(net, {x}, path);
    for (const char *threads : {"1", "2"})
        for (const char *mode : {"PYNATIVE_MODE", "GRAPH_MODE"})
            expect_same_bits(run_elsewhere(path, x, threads, mode), expected);
}

TEST_F(SavedGraph, HasTheParametersByName) {
    const examples::LeNet5 net;
    const nn::GraphCell loaded = reloaded(net, {images(2)});
    EXPECT_EQ(loaded.cls_name(), "LeNet5");
    const auto parameters = loaded.parameters_dict();
    ASSERT_EQ(parameters.size(), net.parameters_dict().size());
    for (const auto &[name, p] : net.parameters_dict()) {
        ASSERT_TRUE(parameters.count(name)) << name;
        expect_same_bits(parameters.at(name).data(), p.data());
        EXPECT_FALSE(parameters.at(name).requires_grad());
    }
    // The file is a checkpoint, and the graph takes one.
    const examples::LeNet5 other;
    EXPECT_TRUE(load_param_into_net(other, load_checkpoint(path)).complete());
    const std::string trained = (folder.path / "trained.safetensors").string();
    const examples::LeNet5 third;
    save_checkpoint(third, trained);
    load_param_into_net(loaded, load_checkpoint(trained), true);
    const Tensor x = images(2);
    expect_same_bits(loaded(x), third(x));
}

// What a network may do in training: running statistics, random numbers, views.
class Small : public nn::Cell {
public:
    Tensor construct(const Tensor &x) const override {
        const Tensor turned = F::transpose(norm(x), {0, 2, 3, 1});
        return dropout(F::concat({turned, F::relu(turned)}, -1)) + F::exp(scale);
    }

private:
    nn::BatchNorm2d norm = child("norm", nn::BatchNorm2d(3));
    nn::Dropout dropout = child("dropout", nn::Dropout(0.25));
    Parameter scale = parameter("scale", Tensor::full({6}, 0.5));
};

TEST_F(SavedGraph, TrainingKeepsItsStateAndDrawsAnew) {
    const Small net;
    net.set_train();
    const Tensor x = F::normal({4, 3, 5, 6}, 0, 1);
    const RngState before = get_rng_state();
    const nn::GraphCell loaded = reloaded(net, {x});
    EXPECT_EQ(get_rng_state(), before);
    expect_same_calls(net, loaded, {x});
    for (const auto &[name, p] : net.parameters_dict())
        expect_same_bits(loaded.parameters_dict().at(name).data(), p.data());
}

TEST_F(SavedGraph, EvaluationIsAnotherGraph) {
    const Small net;
    const Tensor x = F::normal({4, 3, 5, 6}, 0, 1);
    expect_same_calls(net, reloaded(net, {x}), {x});
}

// Reads parts of tensors, some of which are no parameters, and a parameter that is turned first.
class WithViews : public nn::Cell {
public:
    Tensor construct(const Tensor &x) const override {
        const Tensor turned = F::exp(weight.data().swap_axes(0, 1));
        return F::matmul(x, turned) + part * weight.data().slice(1, 1, 2).reshape({3});
    }

private:
    Parameter weight = parameter("weight", F::normal({3, 4}, 0, 1));
    Tensor part = F::normal({2, 9}, 0, 1).slice(0, 1, 2).slice(1, 2, 8, 2);
};

TEST_F(SavedGraph, HoldsViewsAndTensorsThatAreNoParameters) {
    const WithViews net;
    const Tensor x = F::normal({2, 4}, 0, 1);
    const nn::GraphCell loaded = reloaded(net, {x});
    expect_same_calls(net, loaded, {x});
    EXPECT_EQ(loaded.parameters_dict().size(), 1u);
    const NamedTensors tensors = load_safetensors(path);
    ASSERT_EQ(tensors.tensors.size(), 2u);
    for (const auto &[name, t] : tensors.tensors)
        EXPECT_EQ(t.shape(), name == "weight" ? Shape({3, 4}) : Shape({5})) << name;
}

// Checks indices and puts elements in order on the host.
class OnHost : public nn::Cell {
public:
    std::vector<Tensor> construct(nn::Tensors in) const override {
        const Tensor rows = table(in[0]);
        const auto [most, places] = F::top_k(rows, 3);
        return {most, places, F::gather_elements(rows, in[1], -1), F::median(rows, -1)[0],
                loss(F::reshape(rows, {-1, 8}), in[2])};
    }

private:
    nn::Embedding table = child("table", nn::Embedding(9, 8));
    nn::SoftmaxCrossEntropyWithLogits loss{true, "mean"};
};

TEST_F(SavedGraph, StepsOnTheHostAreMadeAgain) {
    const OnHost net;
    const auto ids = Tensor::from(std::vector<int32_t>{1, 8, 0, 3}, {2, 2});
    const auto along = Tensor::from(std::vector<int32_t>{1, -1, 0, 3, 7, 7, -8, 2}, {2, 2, 2});
    const auto labels = Tensor::from(std::vector<int32_t>{1, 7, 0, 3}, {4});
    const nn::GraphCell loaded = reloaded(net, {ids, along, labels});
    expect_same_calls(net, loaded, {ids, along, labels});
    const auto wrong = Tensor::from(std::vector<int32_t>{1, 9, 0, 3}, {2, 2});
    std::string message;
    try {
        net.call(std::vector{wrong, along, labels});
    } catch (const ShapeError &e) {
        message = e.what();
    }
    EXPECT_NE(message.find("index 1 is 9"), std::string::npos) << message;
    try {
        loaded.call(std::vector{wrong, along, labels});
        FAIL() << "a wrong index was taken";
    } catch (const ShapeError &e) {
        EXPECT_EQ(e.what(), message);
    }
}

// Returns the loss and its gradients.
class WithGradients : public nn::Cell {
public:
    std::vector<Tensor> construct(nn::Tensors in) const override {
        Tape tape;
        std::vector<Tensor> weights;
        for (const Parameter &p : net.trainable_params())
            weights.push_back(p.data());
        for (const Tensor &w : weights)
            tape.watch(w);
        const Tensor y = F::reduce_sum(F::square(net(in[0])));
        std::vector<Tensor> out = tape.gradient(y, weights);
        out.insert(out.begin(), y);
        return out;
    }

private:
    examples::LeNet5 net = child("net", examples::LeNet5());
};

TEST_F(SavedGraph, GradientsArePartOfAGraph) {
    const WithGradients net;
    const Tensor x = images(2);
    const nn::GraphCell loaded = reloaded(net, {x});
    expect_same_calls(net, loaded, {x});
    const std::string text = text_of(loaded.graph());
    for (const char *part : {"# WithGradients/net-LeNet5/conv1-Conv2d\n",
                             "# WithGradients/backward/net-LeNet5/conv1-Conv2d\n"})
        EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST_F(SavedGraph, IsACellLikeOthers) {
    const examples::LeNet5 net;
    const Tensor x = images(2);
    const nn::GraphCell loaded = reloaded(net, {x});
    const nn::SequentialCell longer({loaded, nn::Softmax()});
    const nn::SequentialCell original({net, nn::Softmax()});
    set_context({.mode = GRAPH_MODE});
    expect_same_calls(original, longer, {x});
    EXPECT_EQ(longer.graphs().size(), 1u) << "it isn't captured";
    const std::string again = (folder.path / "again.graph").string();
    export_graph(longer, {x}, again);
    expect_same_calls(original, nn::GraphCell(load_graph(again)), {x});
}

template<class E, class F> std::string message_of(const F &f) {
    try {
        f();
    } catch (const E &e) {
        return e.what();
    }
    return "no error";
}

TEST_F(SavedGraph, RefusesOtherInputs) {
    const examples::LeNet5 net;
    const nn::GraphCell loaded = reloaded(net, {images(2)});
    EXPECT_EQ(message_of<ShapeError>([&] { loaded(images(3)); }),
              "[LeNet5] input 0 has shape [3,1,32,32], but the graph was captured with "
              "[2,1,32,32]");
    EXPECT_EQ(message_of<DTypeError>([&] { loaded(images(2).to(DType::f64)); }),
              "[LeNet5] input 0 is f64, but the graph was captured with f32");
    EXPECT_EQ(message_of<ShapeError>([&] { loaded(images(2), images(2)); }),
              "[LeNet5] inputs are 2 tensors, but the graph was captured with 1");
    const Tensor x = images(2);
    Tape tape;
    tape.watch(x);
    const Tensor y = loaded(x);
    EXPECT_THROW(tape.gradient(y, {x}), GradError);
}

TEST_F(SavedGraph, RefusesWhatOnlyTheProgramCanDo) {
    const examples::LeNet5 net;
    const nn::SoftmaxCrossEntropyWithLogits loss(true, "mean");
    const nn::TrainOneStepCell step(nn::WithLossCell(net, loss),
                                    nn::Momentum(net.trainable_params(), 0.01, 0.9));
    const std::vector<Tensor> in{images(2), Tensor::from(std::vector<int32_t>{1, 7}, {2})};
    const Tensor weight = net.parameters_dict().at("fc3.weight").data().copy();
    EXPECT_NE(message_of<GraphError>([&] {
                  export_graph(step, in, path);
              }).find("has the update of an optimiser: export_step() saves a training step"),
              std::string::npos);
    expect_same_bits(net.parameters_dict().at("fc3.weight").data(), weight);
    const auto hook = net.register_forward_hook(
        [](const nn::Cell &, nn::Tensors, nn::Tensors) { return std::vector<Tensor>(); });
    EXPECT_EQ(message_of<GraphError>([&] { export_graph(net, {images(2)}, path); }),
              "[graph] LeNet5 can't be captured: a forward hook runs in LeNet5");
    EXPECT_FALSE(fs::exists(path));
}

TEST_F(SavedGraph, KeepsTheUpdateOfAStep) {
    const examples::LeNet5 net;
    const nn::SoftmaxCrossEntropyWithLogits loss(true, "mean");
    const nn::Momentum optimizer(net.trainable_params(), 0.01, 0.9);
    const nn::TrainOneStepCell step(nn::WithLossCell(net, loss), optimizer);
    const std::vector<Tensor> in{images(2), Tensor::from(std::vector<int32_t>{1, 7}, {2})};
    const Tensor weight = net.parameters_dict().at("fc3.weight").data().copy();
    export_step(step, in, path);
    expect_same_bits(net.parameters_dict().at("fc3.weight").data(), weight);
    EXPECT_EQ(optimizer.phase(), 0);
    const graph::Graph saved = load_graph(path);
    EXPECT_EQ(graph::number_count(saved), 8);
    const std::string text = text_of(saved);
    EXPECT_NE(text.find("= parameter moments.fc3.bias : f32[10]"), std::string::npos) << text;
    EXPECT_NE(text.find("scale=1 [lr: number 7] : f32[10], f32[10]"), std::string::npos) << text;
    EXPECT_EQ(text.find("global_step"), std::string::npos) << text;
    EXPECT_EQ(load_safetensors(path).metadata.at("halyard.graph_format"), "2");
    EXPECT_NE(message_of<GraphError>([&] {
                  const nn::GraphCell cell(saved);
              }).find("takes numbers in each step, as learning rates, which a GraphCell can't set"),
              std::string::npos);
}

TEST_F(SavedGraph, RefusesStepsThatDiffer) {
    const nn::Dense net(3, 2);
    const nn::SoftmaxCrossEntropyWithLogits loss(true, "mean");
    const nn::TrainOneStepCell step(nn::WithLossCell(net, loss), nn::RAdam(net.trainable_params()));
    const std::vector<Tensor> in{Tensor::ones({2, 3}),
                                 Tensor::from(std::vector<int32_t>{1, 0}, {2})};
    EXPECT_EQ(message_of<GraphError>([&] { export_step(step, in, path); }),
              "[graph] a later step of the optimiser makes other calls than this one");
    EXPECT_FALSE(fs::exists(path));
}

TEST_F(SavedGraph, RefusesDamagedFiles) {
    export_graph(nn::SequentialCell({nn::Dense(3, 2), nn::ReLU()}), {Tensor::ones({2, 3})}, path);
    const std::string whole = bytes_of_file(path);
    ASSERT_EQ(refusal(), "");
    for (size_t n = 0; n < whole.size(); n += 7) {
        put(path, whole.substr(0, n));
        ASSERT_NE(refusal(), "") << "cut to " << n << " bytes";
    }
    std::mt19937 random(1);
    for (int k = 0; k < 300; k++) {
        std::string damaged = whole;
        damaged[random() % damaged.size()] ^= char(1 << random() % 8);
        put(path, damaged);
        ASSERT_NE(refusal(), "") << "damage " << k;
    }
    put(path, whole + "x");
    EXPECT_NE(refusal(), "");
}

TEST_F(SavedGraph, RefusesOtherFiles) {
    EXPECT_NE(refusal().find("[" + path + "]"), std::string::npos);  // missing
    put(path, "graph LeNet5 {\n}\n");
    EXPECT_NE(refusal().find("no safetensors file"), std::string::npos) << refusal();
    save_safetensors(path, {{{"w", Tensor::ones({2})}}, {}});
    EXPECT_EQ(refusal(), "[" + path + "] has no graph: export_graph() writes files that have one");
    EXPECT_FALSE(has_graph(path));
    save_safetensors(path, {{}, {{"halyard.graph", "{}"}, {"halyard.graph_format", "3"}}});
    EXPECT_TRUE(has_graph(path));
    EXPECT_EQ(refusal(), "[" + path + "] has a graph of format 3, this version reads 1 and 2");
}

// Files with right checksums whose graphs would read or write other memory than their own.
TEST_F(SavedGraph, RefusesGraphsThatContradictThemselves) {
    const nn::SequentialCell net({nn::Dense(3, 2), nn::ReLU(), nn::Dense(2, 4)});
    export_graph(net, {Tensor::ones({2, 3})}, path);
    const NamedTensors whole = load_safetensors(path);
    const std::string text = whole.metadata.at("halyard.graph");
    const auto refused = [&](const std::string &from, const std::string &to) {
        NamedTensors changed = whole;
        std::string &graph = changed.metadata.at("halyard.graph");
        const size_t at = graph.find(from);
        EXPECT_NE(at, std::string::npos) << from << " in " << graph;
        if (at != std::string::npos) graph.replace(at, from.size(), to);
        save_safetensors(path, changed);
        return refusal();
    };
    const std::pair<std::string, std::string> wrong[] = {
        {"\"shape\":[2,2]", "\"shape\":[2,900]"},
        {"\"shape\":[2,2]", "\"shape\":[2,2],\"offset\":-4"},
        {"\"shape\":[2,2]", "\"shape\":[2,2],\"offset\":2"},
        {"\"shape\":[2,2]", "\"shape\":[2,2],\"strides\":[2147483648,1]"},
        {"\"shape\":[2,2]", "\"shape\":[2,2],\"strides\":[1]"},
        {"\"shape\":[2,2]", "\"shape\":[-2,2]"},
        {"\"shape\":[2,2]", "\"shape\":[1,1,1,1,1,1,1,1,1]"},
        {"\"buffer\":1", "\"buffer\":77"},
        {"\"buffer\":1", "\"buffer\":-3"},
        {"\"buffer\":1", "\"buffer\":\"one\""},
        {"\"argument\":0", "\"argument\":-1"},
        {"\"argument\":0", "\"argument\":2000000000"},
        {"\"bytes\":", "\"bytes\":99999999999999"},
        {"\"role\":\"argument\"", "\"role\":\"temporary\",\"bytes\":24"},
        {"\"tensor\":\"0.weight\"", "\"tensor\":\"0.bias\""},
        {"\"tensor\":\"0.weight\"", "\"tensor\":\"weight\""},
        {"\"draws\":0", "\"draws\":1000000000"},
        {"\"kind\":\"call\"", "\"kind\":\"phone\""},
        {"\"name\":\"relu\"", "\"name\":\"rely\""},
        {"\"attributes\":{}", "\"attributes\":{\"axis\":\"1\"}"},
        {"\"results\":", "\"result\":"},
        {"{", "["},
    };
    for (const auto &[from, to] : wrong)
        EXPECT_NE(refused(from, to).find("[" + path + "] ["), std::string::npos)
            << from << " -> " << to << ": " << refusal();
}

// Files with right checksums and changed digits: they are refused, or run without touching other
// memory, which a sanitizer would see.
TEST_F(SavedGraph, RunsNoChangedGraphOutsideOfItsMemory) {
    const Small net;
    const Tensor x = F::normal({2, 3, 4, 5}, 0, 1);
    export_graph(net, {x}, path);
    const NamedTensors whole = load_safetensors(path);
    const std::string text = whole.metadata.at("halyard.graph");
    std::vector<size_t> digits;
    for (size_t k = 0; k < text.size(); k++)
        if (text[k] >= '0' && text[k] <= '9') digits.push_back(k);
    std::mt19937 random(1);
    int run = 0;
    for (int k = 0; k < 300; k++) {
        NamedTensors changed = whole;
        changed.metadata.at("halyard.graph")[digits[random() % digits.size()]] = char(
            '0' + random() % 10);
        save_safetensors(path, changed);
        try {
            nn::GraphCell(load_graph(path))(x);
            run++;
        } catch (const Error &) {  // refused
        }
    }
    EXPECT_GT(run, 0);
    EXPECT_LT(run, 200);
}

}  // namespace
}  // namespace halyard
