#include "train/model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <thread>

#include "nn/dense.h"
#include "nn/loss.h"
#include "primitives/autograd/tape.h"
#include "primitives/composites/clip.h"
#include "primitives/ops/binary.h"
#include "primitives/ops/reduce.h"
#include "primitives/ops/unary.h"
#include "primitives/random.h"
#include "registry/base/error.h"
#include "train/data/sources.h"

using namespace halyard;

namespace {

// Points whose class is the sign of their first coordinate.
dataset::Dataset points(int64_t n) {
    const Random random(1, 2);
    const Tensor x = Tensor::empty({n, 2});
    const Tensor y = Tensor::empty({n}, DType::i32);
    for (int64_t i = 0; i < n; i++) {
        const auto [a, b] = normal_pair(random.block(uint64_t(i))[0], random.block(uint64_t(i))[1]);
        x.set({i, 0}, a);
        x.set({i, 1}, b);
        y.set({i}, a > 0);
    }
    return dataset::TensorDataset({{"x", x}, {"y", y}});
}

struct Learner {
    nn::Dense net{2, 2, 0.0, 0.0};
    Model model{net,
                nn::SoftmaxCrossEntropyWithLogits(true, "mean"),
                nn::Momentum(net.trainable_params(), 0.5, 0.9),
                {"acc", "accuracy", "loss"}};
};

struct Recorder : Callback {
    explicit Recorder(std::string &log) : out(log) {}
    void on_train_begin(RunContext &) override { out += "["; }
    void on_train_epoch_begin(RunContext &c) override { out += "(" + std::to_string(c.epoch); }
    void on_train_step_begin(RunContext &) override { out += "<"; }
    void on_train_step_end(RunContext &c) override { out += std::to_string(c.step) + ">"; }
    void on_train_epoch_end(RunContext &) override { out += ")"; }
    void on_train_end(RunContext &) override { out += "]"; }
    void on_eval_begin(RunContext &) override { out += "{"; }
    void on_eval_step_begin(RunContext &c) override { out += std::to_string(c.eval_step); }
    void on_eval_step_end(RunContext &) override { out += ";"; }
    void on_eval_end(RunContext &) override { out += "}"; }
    std::string &out;
};

RunContext context(int64_t epoch, int64_t step, double loss) {
    RunContext c;
    c.epoch = epoch;
    c.epochs = 2;
    c.step = step;
    c.steps_per_epoch = 4;
    c.global_step = (epoch - 1) * 4 + step;
    c.net_outputs = Tensor::scalar(loss);
    return c;
}

}  // namespace

TEST(Model, LearnsAndEvaluates) {
    const Learner s;
    Model model = s.model;
    const dataset::Dataset d = points(64).batch(16);
    const auto before = model.eval(d);
    EXPECT_NEAR(before.at("loss"), std::log(2), 1e-6);
    model.train(20, d);
    const auto after = model.eval(d);
    EXPECT_GT(after.at("accuracy"), 0.95);
    EXPECT_EQ(after.at("acc"), after.at("accuracy"));
    EXPECT_LT(after.at("loss"), 0.3);
    EXPECT_FALSE(s.net.training());
    EXPECT_EQ(model.predict(Tensor::ones({3, 2})).shape(), (Shape{3, 2}));
}

TEST(Model, CallsItsCallbacksInOrder) {
    Learner s;
    std::string log;
    s.model.train(2, points(6).batch(2), {Recorder(log)});
    EXPECT_EQ(log, "[(1<1><2><3>)(2<1><2><3>)]");
}

TEST(Model, SinkContinuesWhereItStopped) {
    Learner s;
    std::string log;
    s.model.train(3, points(6).batch(2), {Recorder(log)},
                  {.dataset_sink_mode = true, .sink_size = 2});
    EXPECT_EQ(log, "[(1<2>)(2<2>)(3<2>)]");
    Learner whole;
    whole.model.train(2, points(6).batch(2));
    // Three sinks of two steps are two epochs of three: the same batches in the same order.
    EXPECT_EQ(s.net.weight.data().to_vector<float>(), whole.net.weight.data().to_vector<float>());
}

TEST(Model, EvaluatesBeforeTheEndOfAnEpoch) {
    struct Results : Callback {
        explicit Results(std::vector<std::map<std::string, double>> &all) : out(all) {}
        void on_train_epoch_end(RunContext &c) override { out.push_back(c.eval_results); }
        std::vector<std::map<std::string, double>> &out;
    };
    Learner s;
    std::string log;
    std::vector<std::map<std::string, double>> results;
    const dataset::Dataset valid = points(4).batch(2);
    s.model.fit(2, points(6).batch(2), valid, {Recorder(log), Results(results)},
                {.valid_frequency = 2});
    EXPECT_EQ(log, "[(1<1><2><3>)(2<1><2><3>{1;2;})]");
    ASSERT_EQ(results.size(), 2u);
    EXPECT_TRUE(results[0].empty());
    log.clear();
    const auto after = s.model.eval(valid, {Recorder(log)});
    EXPECT_EQ(log, "{1;2;}");
    EXPECT_EQ(results[1].at("accuracy"), after.at("accuracy"));
    EXPECT_EQ(results[1].at("eval_loss"), after.at("loss"));
    EXPECT_THROW(s.model.fit(2, points(6).batch(2), valid, {}, {.valid_frequency = 0}), AttrError);
}

TEST(Model, PassesTheRunContextToCallbacks) {
    struct Look : Callback {
        void on_train_step_end(RunContext &c) override {
            EXPECT_EQ(c.mode, RunContext::Mode::train);
            EXPECT_EQ(c.batch_size, c.step == 3 ? 1 : 2);
            EXPECT_EQ(c.queue_capacity, 4u);
            EXPECT_LE(c.queue_depth, c.queue_capacity);
            EXPECT_GE(c.data_seconds, 0);
            EXPECT_EQ(c.learning_rate, 0.5);
            EXPECT_EQ(c.optimizer->global_step(), c.global_step);
            EXPECT_EQ(c.network.get_parameters().size(), 2u);
            EXPECT_EQ(c.train_network.get_parameters().size(), 2u);
        }
        void on_eval_step_end(RunContext &c) override {
            EXPECT_EQ(c.mode, RunContext::Mode::eval);
            EXPECT_EQ(c.batch_size, 4);
            EXPECT_EQ(c.eval_steps, 1);
            EXPECT_EQ(c.steps_per_epoch, 3);
        }
    };
    Learner s;
    s.model.fit(1, points(5).batch(2), points(4).batch(4), {Look()});
}

// Compares two epochs at once with the same in parts that end anywhere.
TEST(Model, ResumesAnywhere) {
    struct StopAt : Callback {
        explicit StopAt(int64_t s) : step(s) {}
        void on_train_step_end(RunContext &c) override { c.stop = c.global_step == step; }
        int64_t step;
    };
    const dataset::Dataset d = points(7).shuffle(7).batch(2);
    Learner whole, pieces;
    whole.model.train(3, d);
    for (const auto &[from, to] : {std::pair<int64_t, int64_t>{0, 3}, {3, 4}, {4, 9}, {9, 12}}) {
        pieces.model.train(3, d, {StopAt(to)},
                           {.initial_epoch = from / 4, .initial_step = from % 4});
    }
    EXPECT_EQ(pieces.net.weight.data().to_vector<float>(),
              whole.net.weight.data().to_vector<float>());
    Learner sunk, sinks;  // Runs three steps at a time, of passes of four.
    sunk.model.train(3, d, {}, {.dataset_sink_mode = true, .sink_size = 3});
    sinks.model.train(1, d, {}, {.dataset_sink_mode = true, .sink_size = 3});
    sinks.model.train(3, d, {}, {.dataset_sink_mode = true, .sink_size = 3, .initial_epoch = 1});
    EXPECT_EQ(sinks.net.weight.data().to_vector<float>(),
              sunk.net.weight.data().to_vector<float>());
    std::string log;
    pieces.model.train(3, d, {Recorder(log)}, {.initial_epoch = 1, .initial_step = 2});
    EXPECT_EQ(log, "[(2<3><4>)(3<1><2><3><4>)]");
    EXPECT_THROW(pieces.model.train(3, d, {}, {.initial_epoch = -1}), AttrError);
}

TEST(Model, NetworksWithTheirOwnLossGetAllColumns) {
    struct Net : nn::Cell {
        Parameter w = parameter("w", Tensor::zeros({2}));
        std::vector<Tensor> construct(nn::Tensors in) const override {
            EXPECT_EQ(in.size(), 3u);
            return {
                F::reduce_mean(F::square(F::sub(F::mul(F::add(in[0], in[2]), w.data()), in[1])))};
        }
    };
    const Net net;
    const Tensor ones = Tensor::ones({4, 2});
    Model(net, {}, nn::SGD(net.trainable_params(), 0.1))
        .train(20, dataset::TensorDataset({{"a", ones}, {"b", ones}, {"c", ones}}).batch(2));
    EXPECT_NEAR(net.w.data().at({0}), 0.5, 1e-3);  // (1 + 1) w = 1
}

// The optimiser gets a scale that drops no overflow.
TEST(Model, ScalesItsLoss) {
    const auto weights = [](const std::optional<nn::LossScaleManager> &scale, double loss_scale) {
        const nn::Dense net(2, 2, 0.0, 0.0);
        Model(net, nn::SoftmaxCrossEntropyWithLogits(true, "mean"),
              nn::Momentum(net.trainable_params(), 0.5, 0.9, {.loss_scale = loss_scale}), {}, scale)
            .train(2, points(6).batch(2));
        return net.weight.data().to_vector<float>();
    };
    const std::vector<float> plain = weights({}, 1);
    EXPECT_EQ(weights(nn::FixedLossScaleManager(1024, false), 1024), plain);
    EXPECT_EQ(weights(nn::FixedLossScaleManager(1024), 1), plain);
    EXPECT_EQ(weights(nn::DynamicLossScaleManager(1024, 2, 2), 1), plain);
    EXPECT_NE(weights(nn::FixedLossScaleManager(1024, false), 1), plain);
}

// In a step that clips, each update is at most as long as the learning rate times the clip's norm.
TEST(Model, TrainsWithACustomStep) {
    struct ClippedStep : nn::Cell {
        ClippedStep(const nn::AnyCell &net, const nn::Optimizer &opt)
            : Cell(false), network(child("network", net)), weights(net.trainable_params()),
              optimizer(opt) {}
        nn::AnyCell network;
        ParameterTuple weights;
        nn::Optimizer optimizer;
        Tensor construct(const Tensor &data, const Tensor &label) const override {
            const Function forward = [this](const std::vector<Tensor> &in) {
                return network(in[0], in[1]);
            };
            const Gradients grads = value_and_grad(forward, {}, weights)({data, label});
            return depend(grads.value, optimizer(F::clip_by_global_norm(grads.parameters, 0.01)));
        }
    };
    Learner s;
    const nn::SGD sgd(s.net.trainable_params(), 0.5);
    Model model(s.net, nn::SoftmaxCrossEntropyWithLogits(true, "mean"), sgd);
    model.set_train_network(
        ClippedStep(nn::WithLossCell(s.net, nn::SoftmaxCrossEntropyWithLogits(true, "mean")), sgd));
    model.train(1, points(6).batch(2));
    double squares = 0;
    for (const Parameter &p : s.net.get_parameters()) {
        for (const double v : p.data().to_vector<double>())
            squares += v * v;
    }
    EXPECT_LE(std::sqrt(squares), 3 * 0.5 * 0.01 * (1 + 1e-6));
    EXPECT_GT(std::sqrt(squares), 0.5 * 0.01);
}

TEST(Model, TrainsInMixedPrecision) {
    for (const char *level : {"O1", "O2", "O3"}) {
        const nn::Dense net(2, 2, 0.0, 0.0);
        Model model(net, nn::SoftmaxCrossEntropyWithLogits(true, "mean"),
                    nn::Momentum(net.trainable_params(), 0.5, 0.9), {"acc"}, {},
                    {.amp_level = level});
        const bool scales = model.train_network().as<nn::TrainOneStepWithLossScaleCell>() !=
                            nullptr;
        EXPECT_EQ(scales, std::string(level) == "O2") << level;
        // The first steps only find a scale that doesn't overflow.
        model.train(scales ? 12 : 4, points(64).batch(8));
        EXPECT_GT(model.eval(points(64).batch(8)).at("acc"), 0.9) << level;
        EXPECT_EQ(model.predict(Tensor::ones({1, 2})).dtype(), DType::f32) << level;
    }
    EXPECT_THROW(Model(nn::Dense(2, 2), {}, {}, {}, {}, {.amp_level = "O9"}), AttrError);
    EXPECT_THROW(Model(nn::Dense(2, 2), {}, {}, {}, {}, {.keep_batchnorm_fp32 = true}), AttrError);
}

// Replaces the evaluation network: swaps label and outputs and halves the loss.
struct SwappedEval : nn::Cell {
    explicit SwappedEval(nn::AnyCell n) : net(std::move(n)) {}
    std::vector<Tensor> construct(nn::Tensors in) const override {
        const Tensor outputs = net(in[0]);
        return {in[1], outputs, Tensor::full({}, 0.5)};
    }
    nn::AnyCell net;
};

TEST(Model, EvaluatesWithACustomNetwork) {
    const Learner l;
    const dataset::Dataset data = points(64).batch(8);
    const Model own(l.net, {}, {}, {"acc", "loss"}, {},
                    {.eval_network = SwappedEval(l.net), .eval_indexes = {2, 1, 0}});
    const std::map<std::string, double> results = own.eval(data);
    EXPECT_EQ(results.at("acc"), l.model.eval(data).at("acc"));
    EXPECT_EQ(results.at("loss"), 0.5);

    const Model without_indexes(l.net, {}, {}, {"acc"}, {},
                                {.eval_network = nn::WithLossCell(l.net, nn::MSELoss())});
    EXPECT_THROW(without_indexes.eval(data), Error)
        << "one tensor is neither outputs and label nor these with a loss";
    const ModelOptions beyond = {.eval_network = SwappedEval(l.net), .eval_indexes = {3, 1, 0}};
    EXPECT_THROW(Model(l.net, {}, {}, {"acc"}, {}, beyond).eval(data), AttrError);
    EXPECT_THROW(Model(l.net, {}, {}, {"acc"}, {}, {.eval_indexes = {0, 1, 2}}), AttrError)
        << "without an eval_network";
    EXPECT_THROW(Model(l.net, {}, {}, {"acc"}, {},
                       {.eval_network = SwappedEval(l.net), .eval_indexes = {0, 1}}),
                 AttrError);
    EXPECT_THROW(Model(l.net, {}, {}, {"loss"}, {},
                       {.eval_network = SwappedEval(l.net), .eval_indexes = {-1, 1, 0}}),
                 AttrError);
}

TEST(Model, StopsOnRequest) {
    struct Stop : Callback {
        void on_train_step_end(RunContext &c) override {
            if (c.global_step == 4) c.request_stop();
        }
    };
    Learner s;
    std::string log;
    s.model.train(5, points(6).batch(2), {Stop(), Recorder(log)});
    EXPECT_EQ(log, "[(1<1><2><3>)(2<1>)]");
}

TEST(Model, RejectsInvalidArguments) {
    Learner s;
    EXPECT_THROW(Model(s.net, {}, {}, {"f1"}), AttrError);
    EXPECT_THROW(Model(s.net, {}, {}, {"loss"}), AttrError);
    EXPECT_THROW(Model(s.net).train(1, points(4).batch(2)), AttrError);
    EXPECT_THROW(s.model.train(0, points(4).batch(2)), AttrError);
    EXPECT_THROW(s.model.train(1, points(4).batch(8, true)), AttrError);
    EXPECT_THROW(s.model.train(1, points(4), {}, {.dataset_sink_mode = true, .sink_size = 0}),
                 AttrError);
    EXPECT_THROW(s.model.train(1, dataset::TensorDataset({{"x", Tensor::ones({4, 2})}})),
                 AttrError);
}

TEST(Callback, LossMonitorPrintsAndRejectsNaN) {
    std::ostringstream out;
    LossMonitor every(2, out);
    LossMonitor epoch_end(0, out);
    for (int64_t step = 1; step <= 4; step++) {
        RunContext c = context(1, step, 0.5 * double(step));
        every.on_train_step_end(c);
        epoch_end.on_train_step_end(c);
        if (step == 4) epoch_end.on_train_epoch_end(c);
    }
    EXPECT_EQ(
        out.str(),
        "epoch: 1 step: 2, loss is 1\nepoch: 1 step: 4, loss is 2\nepoch: 1 step: 4, loss is 2\n");
    RunContext bad = context(2, 3, std::numeric_limits<double>::quiet_NaN());
    EXPECT_THROW(every.on_train_step_end(bad), Error);
}

TEST(Callback, ProgressBarIsPlainInFiles) {
    std::ostringstream plain, terminal;
    ProgressBar file(plain, false);
    ProgressBar screen(terminal, true, 120);
    for (ProgressBar *bar : {&file, &screen}) {
        RunContext c = context(1, 0, 1);
        bar->on_train_epoch_begin(c);
        for (int64_t step = 1; step <= 4; step++) {
            c = context(1, step, double(step));
            bar->on_train_step_end(c);
        }
        bar->on_train_epoch_end(c);
    }
    EXPECT_EQ(plain.str().find("epoch 1/2 4/4  loss 2.5000  "), 0u) << plain.str();
    EXPECT_EQ(plain.str().find('\r'), std::string::npos);
    EXPECT_EQ(plain.str().find('\033'), std::string::npos);
    EXPECT_NE(terminal.str().find('\r'), std::string::npos);
    EXPECT_NE(terminal.str().find("████████████████████████████████▏"), std::string::npos);
}

TEST(Callback, ProgressBarShowsRatesQueueResultsAndTimeLeft) {
    const auto drawn = [](bool terminal, int columns) {
        std::ostringstream out;
        ProgressBar bar(out, terminal, columns);
        RunContext c = context(1, 0, 1);
        c.data = Tensor::ones({32, 1, 2, 2});
        c.batch_size = 32;
        c.queue_depth = 3;
        c.queue_capacity = 4;
        bar.on_train_begin(c);
        bar.on_train_epoch_begin(c);
        c.step = c.global_step = 4;
        bar.on_train_step_end(c);
        bar.on_eval_begin(c);
        std::this_thread::sleep_for(std::chrono::milliseconds(120));
        c.eval_step = 2;
        c.eval_steps = 3;
        c.queue_depth = 0;
        c.eval_results = {{"accuracy", 0.975}};
        bar.on_eval_step_end(c);
        bar.on_eval_end(c);
        bar.on_train_epoch_end(c);
        return out.str();
    };
    const std::string line = drawn(false, 0);
    for (const char *part :
         {" images/s  queue 3.0/4  accuracy 0.9750  ETA 0:00\n", "  loss 1.0000  "})
        EXPECT_NE(line.find(part), std::string::npos) << part << line;
    // No terminal wraps the line: below 40 columns the bar is omitted, then the line is cut.
    const auto columns_of = [](const std::string &text) {
        const std::string last = text.substr(text.rfind('\r') + 1,
                                             text.rfind("\033[K") - text.rfind('\r') - 1);
        // It isn't cut within a character.
        return std::count_if(last.begin(), last.end(), [](char b) { return (b & 0xC0) != 0x80; });
    };
    for (const int columns : {20, 60, 100, 140})
        EXPECT_LT(columns_of(drawn(true, columns)), columns) << drawn(true, columns);
    EXPECT_LT(std::stod(line.substr(line.find("loss 1.0000  ") + 13)), 20)
        << "the evaluation isn't the steps' time: " << line;
    EXPECT_NE(drawn(true, 140).find("\revaluation 2/3\033[K"), std::string::npos);
    EXPECT_NE(drawn(true, 140).find("█"), std::string::npos);
    EXPECT_EQ(drawn(true, 60).find("█"), std::string::npos);
}

TEST(Callback, TimeMonitorReportsStepsEpochsAndEvaluations) {
    std::ostringstream out;
    Learner s;
    s.model.fit(1, points(8).batch(2), points(4).batch(2),
                {TimeMonitor({.per_print_times = 2, .data_time = true}, out)});
    const std::string reported = out.str();
    const std::string lines[] = {
        "epoch: 1 step: 2, per step time: ", "epoch: 1 step: 4, per step time: ",
        "Eval epoch time: ", "Train epoch time: "};
    size_t at = 0;
    for (const std::string &line : lines) {
        const size_t found = reported.find(line, at);
        ASSERT_NE(found, std::string::npos) << line << reported;
        EXPECT_NE(
            reported.substr(found, reported.find('\n', found) - found).find(" ms (data time: "),
            std::string::npos)
            << reported;
        at = found + 1;
    }
    EXPECT_THROW(TimeMonitor({.per_print_times = -1}), AttrError);
}
