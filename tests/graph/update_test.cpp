// Updates by optimisers as parts of captured graphs, and layers whose copies are captured.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "nn/activation.h"
#include "nn/basic.h"
#include "nn/dense.h"
#include "nn/loss.h"
#include "nn/optimizer.h"
#include "nn/optimizer_adaptive.h"
#include "nn/padding.h"
#include "nn/recurrent.h"
#include "nn/wrap.h"
#include "primitives/autograd/tape.h"
#include "primitives/composites/clip.h"
#include "primitives/composites/concat.h"
#include "primitives/context.h"
#include "primitives/operators.h"
#include "primitives/ops.h"
#include "primitives/random.h"
#include "registry/base/runtime.h"
#include "registry/tensor/memory.h"

namespace halyard {
namespace {

using Values = std::vector<std::vector<float>>;

class CapturedUpdate : public testing::Test {
protected:
    void TearDown() override { set_context({.mode = before_}); }
    const ExecutionMode before_ = get_context().mode;  // HALYARD_MODE's
};

class Net : public nn::Cell {
public:
    Tensor construct(const Tensor &x) const override { return last(relu(first(x))); }

private:
    nn::Dense first = child("first", nn::Dense(4, 8));
    nn::ReLU relu;
    nn::Dense last = child("last", nn::Dense(8, 3));
};

struct Batch {
    Tensor data, label;
};
Batch batch_of(int step) {
    std::vector<float> x;
    std::vector<int32_t> y;
    for (int k = 0; k < 20; k++)
        x.push_back(float((k * 37 + step * 11) % 101) / 101 - 0.5F);
    for (int k = 0; k < 5; k++)
        y.push_back((k + step) % 3);
    return {Tensor::from(x, {5, 4}), Tensor::from(y, {5})};
}

using Make = std::function<nn::Optimizer(const ParameterTuple &)>;
struct Training {
    Make optimizer;
    std::function<void(const nn::Optimizer &, int step)> before_step = {};
    std::optional<nn::LossScaleManager> scale = {};
    double data_scale = 1;
};

struct Trained {
    Values values;                    // losses and parameters
    std::vector<double> state;        // the optimiser's
    std::vector<std::string> graphs;  // of the steps
};

Trained train(ExecutionMode mode, const Training &training, int steps) {
    set_context({.mode = mode});
    set_seed(5);
    const Net net;
    net.set_train();
    const nn::SoftmaxCrossEntropyWithLogits loss(true, "mean");
    const nn::Optimizer optimizer = training.optimizer(net.trainable_params());
    const nn::WithLossCell with_loss(net, loss);
    const nn::TrainOneStepCell plain(with_loss, optimizer);
    std::optional<nn::TrainOneStepWithLossScaleCell> scaled;
    if (training.scale) scaled.emplace(with_loss, optimizer, *training.scale);
    Trained trained;
    for (int k = 0; k < steps; k++) {
        if (training.before_step) training.before_step(optimizer, k);
        const Batch b = batch_of(k);
        const Tensor x = b.data * training.data_scale;
        const Tensor l = scaled ? (*scaled)(x, b.label) : plain(x, b.label);
        trained.values.push_back(l.to_vector<float>());
    }
    for (const Parameter &p : net.get_parameters())
        trained.values.push_back(p.data().to_vector<float>());
    for (const Parameter &p : optimizer.get_parameters()) {
        const std::vector<double> elements = p.data().to_vector<double>();
        trained.state.insert(trained.state.end(), elements.begin(), elements.end());
    }
    trained.graphs = scaled ? scaled->step_graphs() : plain.step_graphs();
    return trained;
}

// Returns the graphs of a training, after a comparison with that op by op.
std::vector<std::string> same_as_op_by_op(const Training &training, int steps = 13) {
    const Trained eager = train(PYNATIVE_MODE, training, steps);
    const Trained captured = train(GRAPH_MODE, training, steps);
    EXPECT_EQ(eager.values, captured.values);
    EXPECT_EQ(eager.state, captured.state);
    EXPECT_TRUE(eager.graphs.empty());
    return captured.graphs;
}

bool contains(const std::string &text, const std::string &part) {
    return text.find(part) != std::string::npos;
}

struct Named {
    const char *name, *op;  // a kernel that its graph has
    Make make;
};

const std::vector<double> rates = {0.1, 0.05, 0.2, 0.01, 0.07, 0.02};

std::vector<Named> captured_optimizers() {
    using P = const ParameterTuple &;
    return {
        {"Momentum", "momentum_", [](P p) { return nn::Momentum(p, rates, 0.9); }},
        {"SGD", "sgd_",
         [](P p) {
             return nn::SGD(p, rates, {.momentum = 0.9, .dampening = 0.25, .weight_decay = 0.01});
         }},
        {"Adam", "adam_", [](P p) { return nn::Adam(p, rates); }},
        {"Adam, nesterov", "addcdiv",
         [](P p) { return nn::Adam(p, rates, {.use_nesterov = true}); }},
        {"Adam, amsgrad", "maximum", [](P p) { return nn::Adam(p, rates, {.use_amsgrad = true}); }},
        {"AdamWeightDecay", "adam_weight_decay_",
         [](P p) { return nn::AdamWeightDecay(p, rates, {.weight_decay = 0.1}); }},
        {"AdamW", "adam_", [](P p) { return nn::AdamW(p, rates, {.weight_decay = 0.1}); }},
        {"AdamW, amsgrad", "maximum", [](P p) { return nn::AdamW(p, rates, {.amsgrad = true}); }},
        {"NAdam", "addcdiv", [](P p) { return nn::NAdam(p, rates, {.weight_decay = 0.1}); }},
        {"RAdam", "adam_", [](P p) { return nn::RAdam(p, rates); }},
        {"AdaMax", "ada_max_", [](P p) { return nn::AdaMax(p, rates); }},
        {"Lamb", "lamb_direction", [](P p) { return nn::Lamb(p, rates, {.weight_decay = 0.1}); }},
        {"Lion", "lion_step", [](P p) { return nn::Lion(p, rates, {.weight_decay = 0.1}); }},
        {"LARS of Lamb", "lamb_direction",
         [](P p) { return nn::LARS(nn::Lamb(p, rates, {.weight_decay = 0.1})); }},
        {"LARS", "momentum_",
         [](P p) {
             return nn::LARS(nn::Momentum(p, rates, 0.9, {.weight_decay = 0.1}),
                             {.use_clip = true});
         }},
        {"Adagrad", "adagrad_", [](P p) { return nn::Adagrad(p, rates); }},
        {"ProximalAdagrad", "addcmul",
         [](P p) { return nn::ProximalAdagrad(p, rates, {.l1 = 0.001, .l2 = 0.001}); }},
        {"Adadelta", "sqrt", [](P p) { return nn::Adadelta(p, rates); }},
        {"RMSProp", "rms_prop_", [](P p) { return nn::RMSProp(p, rates); }},
        {"RMSProp, centered", "centered_rms_prop_",
         [](P p) { return nn::RMSProp(p, rates, {.centered = true}); }},
        {"FTRL", "select", [](P p) { return nn::FTRL(p, rates); }},
        {"ASGD", "sub", [](P p) { return nn::ASGD(p, rates, {.weight_decay = 0.1}); }},
        {"ASGD, averaged", "sub", [](P p) { return nn::ASGD(p, rates, {.t0 = 4}); }},
        {"Rprop", "sign", [](P p) { return nn::Rprop(p, rates); }},
    };
}

TEST_F(CapturedUpdate, HasTheBitsOfEveryOptimizer) {
    for (const Named &o : captured_optimizers()) {
        SCOPED_TRACE(o.name);
        const auto graphs = same_as_op_by_op({o.make});
        ASSERT_FALSE(graphs.empty());
        EXPECT_TRUE(contains(graphs[0], std::string(o.op) + "(")) << graphs[0];
        EXPECT_TRUE(contains(graphs[0], "# update")) << graphs[0];
        const auto has_number = [](const std::string &g) { return contains(g, ": number "); };
        EXPECT_TRUE(std::ranges::any_of(graphs, has_number)) << graphs[0];
    }
}

// The first calls with a graph are its capture; a graph that is made again would be one more.
TEST_F(CapturedUpdate, HasOneGraphForEachPhaseOfARule) {
    using P = const ParameterTuple &;
    const auto graphs_of = [](const Make &make) { return same_as_op_by_op({make}, 40).size(); };
    EXPECT_EQ(graphs_of([](P p) { return nn::NAdam(p, rates); }), 1u);
    EXPECT_EQ(graphs_of([](P p) { return nn::Lamb(p, rates); }), 1u);
    EXPECT_EQ(graphs_of([](P p) { return nn::ASGD(p, rates); }), 1u);
    // Up to step t0 + 2 the average is the parameter, then it is moved.
    const auto averaged = [](P p) { return nn::ASGD(p, rates, {.t0 = 4}); };
    EXPECT_EQ(graphs_of(averaged), 2u);
}

// A state that numbers are computed from is read anew in each step: here it is set in between.
TEST_F(CapturedUpdate, ReadsTheStateOfARule) {
    const auto set_state = [](const char *name) {
        return [name](const nn::Optimizer &o, int step) {
            if (step != 6) return;
            for (const Parameter &p : o.get_parameters())
                if (p.name().starts_with(name)) p.set_data(Tensor::scalar(0.25, DType::f64));
        };
    };
    using P = const ParameterTuple &;
    const Training nadam{[](P p) { return nn::NAdam(p, rates); }, set_state("mu_product")};
    EXPECT_EQ(same_as_op_by_op(nadam).size(), 1u);
    const Training asgd{[](P p) { return nn::ASGD(p, rates); }, set_state("eta_")};
    EXPECT_EQ(same_as_op_by_op(asgd).size(), 1u);
    const Training untouched{nadam.optimizer};
    EXPECT_NE(train(GRAPH_MODE, nadam, 13).values, train(GRAPH_MODE, untouched, 13).values);
}

TEST_F(CapturedUpdate, SeesRatesThatTheProgramSets) {
    const Training training{
        [](const ParameterTuple &p) { return nn::Adam(p, 0.1); },
        [](const nn::Optimizer &o, int step) { o.set_learning_rate(0.1 / (1 + step)); }};
    EXPECT_EQ(same_as_op_by_op(training, 21).size(), 1u);
}

TEST_F(CapturedUpdate, SeesSchedules) {
    const Training training{[](const ParameterTuple &p) {
        return nn::Momentum(p, nn::LearningRate(nn::CosineDecayLR(0.001, 0.1, 30)), 0.9);
    }};
    EXPECT_EQ(same_as_op_by_op(training, 21).size(), 1u);
}

TEST_F(CapturedUpdate, HasGroups) {
    const Training training{[](const ParameterTuple &p) {
        return nn::Momentum(
            std::vector<nn::ParamGroup>{
                {.params = {p[0]}, .lr = rates, .weight_decay = 0.1, .grad_centralization = true},
                {.params = {p[1], p[2]}, .lr = 0.01},
                {.params = {p[3]}}},
            0.1, 0.9);
    }};
    EXPECT_EQ(same_as_op_by_op(training).size(), 1u);
}

TEST_F(CapturedUpdate, HasOneGraphForEachPlaceInAnAccumulation) {
    const Training training{
        [](const ParameterTuple &p) { return nn::Accumulator(nn::Momentum(p, rates, 0.9), 4); }};
    // The first call sets the sums, the second and the third add to them, the fourth updates.
    EXPECT_EQ(same_as_op_by_op(training, 29).size(), 3u);
}

TEST_F(CapturedUpdate, HasTwoGraphsWithLossScaling) {
    const Training training{[](const ParameterTuple &p) { return nn::Adam(p, rates); },
                            {},
                            nn::FixedLossScaleManager(128)};
    const auto graphs = same_as_op_by_op(training);
    ASSERT_EQ(graphs.size(), 2u);
    EXPECT_TRUE(contains(graphs[0], "= is_finite("));
    EXPECT_TRUE(contains(graphs[1], "= adam_("));
}

TEST_F(CapturedUpdate, SkipsWhatOverflowed) {
    Training training{[](const ParameterTuple &p) { return nn::Adam(p, rates); }, {}, {}, 1e30};
    const auto with_scale = [&](ExecutionMode mode) {
        training.scale = nn::DynamicLossScaleManager(1e16, 1e4, 3);
        return train(mode, training, 17).values;
    };
    EXPECT_EQ(with_scale(PYNATIVE_MODE), with_scale(GRAPH_MODE));
}

// The factor is a number of the step: a new one captures nothing anew.
TEST_F(CapturedUpdate, HasTwoGraphsForAllFactorsOfLossScaling) {
    const auto with_scale = [](ExecutionMode mode) {
        Training own{[](const ParameterTuple &p) { return nn::Adam(p, rates); }};
        own.scale = nn::DynamicLossScaleManager(8, 2, 3);  // doubles after every third step
        return train(mode, own, 25);
    };
    const Trained eager = with_scale(PYNATIVE_MODE);
    const Trained captured = with_scale(GRAPH_MODE);
    EXPECT_EQ(eager.values, captured.values);
    EXPECT_EQ(eager.state, captured.state);
    EXPECT_EQ(captured.graphs.size(), 2u);
}

TEST_F(CapturedUpdate, GivesGradientsToListeners) {
    int calls = 0;
    const Training training{[&](const ParameterTuple &p) {
        nn::Optimizer o = nn::Momentum(p, rates, 0.9);
        o.on_gradients([&](const std::vector<Tensor> &g) {
            EXPECT_EQ(g.size(), 4u);
            calls++;
        });
        return o;
    }};
    same_as_op_by_op(training, 9);
    EXPECT_EQ(calls, 18);
}

// A rule of a user's, which computes with the step.
struct Decaying : nn::Optimizer::Rule {
    void prepare(const ParameterTuple & /*params*/) override {}
    void update(const nn::Update &u) override { u.p.assign(u.p - u.g * (u.lr / double(u.step))); }
};
class DecayingOptimizer : public nn::Optimizer {
public:
    explicit DecayingOptimizer(const ParameterTuple &p)
        : Optimizer(std::make_shared<Decaying>(), p, 0.1, 0, 1) {}
};

// A rule that says that its number is the rate, but computes another one from it.
struct Wrong : Decaying {
    std::optional<std::vector<double>> numbers(const nn::NextUpdate &next) const override {
        return std::vector{next.lr};
    }
    void update(const nn::Update &u) override { u.p.assign(u.p - u.g * (2 * u.numbers[0])); }
};
class WrongOptimizer : public nn::Optimizer {
public:
    explicit WrongOptimizer(const ParameterTuple &p)
        : Optimizer(std::make_shared<Wrong>(), p, rates, 0, 1) {}
};

TEST_F(CapturedUpdate, RunsRulesOfOthers) {
    const auto own = [](const ParameterTuple &p) { return DecayingOptimizer(p); };
    testing::internal::CaptureStderr();
    const auto graphs = same_as_op_by_op({own});
    std::string said = testing::internal::GetCapturedStderr();
    ASSERT_EQ(graphs.size(), 1u);
    EXPECT_TRUE(contains(graphs[0], "# backward")) << graphs[0];
    EXPECT_FALSE(contains(graphs[0], "# update")) << graphs[0];
    const std::string message = "the update runs op by op after the captured gradients";
    EXPECT_TRUE(contains(said, message)) << said;
    EXPECT_EQ(said.find(message), said.rfind(message)) << said;
    testing::internal::CaptureStderr();
    const auto wrong = [](const ParameterTuple &p) { return WrongOptimizer(p); };
    EXPECT_TRUE(same_as_op_by_op({wrong}).empty());
    said = testing::internal::GetCapturedStderr();
    EXPECT_TRUE(contains(said, "TrainOneStepCell runs op by op: 'fill' computes with a number of "
                               "the step in update"))
        << said;
}

// Counts the blocks that kernels take for themselves.
class ScratchCount : public KernelWatch {
public:
    ScratchCount() { watch_kernels(this); }
    ~ScratchCount() override { watch_kernels(nullptr); }
    ScratchCount(const ScratchCount &) = delete;
    ScratchCount &operator=(const ScratchCount &) = delete;
    int loop(void *context, halide_task_t body, int min, int size, uint8_t *closure) override {
        int status = 0;
        for (int k = min; k < min + size && status == 0; k++)
            status = body(context, k, closure);
        return status;
    }
    void allocated(char * /*block*/, size_t /*bytes*/) override { blocks++; }
    void released(char * /*block*/) override {}
    int64_t blocks = 0;
};

TEST_F(CapturedUpdate, AllocatesNoTensorInAThousandSteps) {
    set_context({.mode = GRAPH_MODE});
    const Net net;
    net.set_train();
    const nn::SoftmaxCrossEntropyWithLogits loss(true, "mean");
    const nn::TrainOneStepCell step(nn::WithLossCell(net, loss),
                                    nn::Adam(net.trainable_params(), rates));
    const Batch b = batch_of(0);
    for (int k = 0; k < 1024; k++)  // the calls that are recorded again are among these
        step(b.data, b.label);
    const int64_t before = memory::stats().allocations;
    int64_t scratch = 0;
    {
        const ScratchCount counted;
        for (int k = 0; k < 1000; k++)
            step(b.data, b.label);
        scratch = counted.blocks;
    }
    EXPECT_EQ(memory::stats().allocations - before, scratch);
    const Tensor kept = step(b.data, b.label);
    const std::vector<float> value = kept.to_vector<float>();
    step(b.data, b.label);
    EXPECT_EQ(kept.to_vector<float>(), value);
}

// A step of a user's: gradients are clipped before the update.
class ClippedStep : public nn::Cell {
public:
    ClippedStep(const nn::AnyCell &network, const nn::Optimizer &o)
        : Cell(false), network_(child("network", network)), optimizer_(o) {}
    Tensor construct(const Tensor &x, const Tensor &y) const override {
        const std::vector<Tensor> weights(optimizer_.parameters().begin(),
                                          optimizer_.parameters().end());
        Tape tape;
        for (const Tensor &w : weights)
            tape.watch(w);
        Tensor loss = network_(x, y);
        optimizer_(F::clip_by_global_norm(tape.gradient(loss, weights), 0.05));
        return loss;
    }

private:
    nn::AnyCell network_;
    nn::Optimizer optimizer_;
};

TEST_F(CapturedUpdate, IsPartOfAStepOfAUsers) {
    const auto trained = [](ExecutionMode mode) {
        set_context({.mode = mode});
        set_seed(5);
        const Net net;
        const nn::SoftmaxCrossEntropyWithLogits loss(true, "mean");
        const nn::Momentum optimizer(net.trainable_params(), rates, 0.9);
        const ClippedStep step(nn::WithLossCell(net, loss), optimizer);
        Values all;
        for (int k = 0; k < 13; k++) {
            const Batch b = batch_of(k);
            all.push_back(step(b.data, b.label).to_vector<float>());
        }
        for (const Parameter &p : net.get_parameters())
            all.push_back(p.data().to_vector<float>());
        EXPECT_EQ(step.graphs().size(), mode == GRAPH_MODE ? 1u : 0u);
        EXPECT_EQ(optimizer.global_step(), 13);
        return all;
    };
    EXPECT_EQ(trained(PYNATIVE_MODE), trained(GRAPH_MODE));
}

// Layers whose results are put together by copies.
class Joined : public nn::Cell {
public:
    Tensor construct(const Tensor &x) const override {
        const Tensor padded = F::pad(x, {1, 2}, ops::Pad::BorderMode::reflect);
        const Tensor both = F::concat({padded, F::roll(padded, {1}, {1})}, 1);
        return F::concat({F::pad(both, {0, 1}), F::stack({x, x}, 1).reshape({4, 10})}, 1);
    }
};

template<class Cell> void expect_captured(const Cell &cell, const Tensor &x) {
    set_context({.mode = PYNATIVE_MODE});
    const std::vector<float> eager = cell.call({&x, 1})[0].template to_vector<float>();
    set_context({.mode = GRAPH_MODE});
    for (int k = 0; k < 5; k++)
        EXPECT_EQ(cell.call({&x, 1})[0].template to_vector<float>(), eager);
    EXPECT_EQ(cell.graphs().size(), 1u) << cell.text();
}

TEST_F(CapturedUpdate, IsBesideCopiesThatAreCaptured) {
    set_seed(3);
    expect_captured(Joined(), Tensor::from(std::vector<float>(20, 0.5F), {4, 5}));
    std::vector<float> elements;
    for (int k = 0; k < 60; k++)
        elements.push_back(float(k % 7) / 7);
    const Tensor sequence = Tensor::from(elements, {5, 3, 4});
    expect_captured(nn::LSTM(4, 6, {.num_layers = 2, .bidirectional = true}), sequence);
    expect_captured(nn::GRU(4, 6), sequence);
    expect_captured(nn::RNN(4, 6), sequence);
}

}  // namespace
}  // namespace halyard
