// Tests callbacks that change a training, and those that save its state.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "nn/basic.h"
#include "nn/dense.h"
#include "nn/loss.h"
#include "nn/sequential.h"
#include "primitives/random.h"
#include "tests/registry/expect_error.h"
#include "train/callbacks/plateau.h"
#include "train/checkpoint/checkpoint.h"
#include "train/checkpoint/model_checkpoint.h"
#include "train/checkpoint/safetensors.h"
#include "train/checkpoint/training_state.h"
#include "train/data/sources.h"
#include "train/model.h"

namespace halyard {
namespace {

namespace fs = std::filesystem;
using Files = std::vector<std::string>;

struct Folder {
    fs::path path = fs::temp_directory_path() / ("halyard_callbacks_" + std::to_string(getpid()));
    Folder() {
        fs::remove_all(path);
        fs::create_directory(path);
    }
    ~Folder() { fs::remove_all(path); }
    Files files() const {
        Files names;
        for (auto &e : fs::directory_iterator(path))
            names.push_back(e.path().filename());
        std::sort(names.begin(), names.end());
        return names;
    }
    operator std::string() const { return path.string(); }
};

dataset::Dataset points() {
    const Tensor x = Tensor::empty({22, 3});
    const Tensor y = Tensor::empty({22}, DType::i32);
    for (int64_t i = 0; i < 22; i++) {
        for (int64_t k = 0; k < 3; k++)
            x.set({i, k}, std::sin(1.7 * double(3 * i + k)));
        y.set({i}, x.at({i, 0}) > 0);
    }
    // An epoch has six batches.
    return dataset::TensorDataset({{"x", x}, {"y", y}}).shuffle(22).batch(4);
}

// A network that draws masks, an optimiser with state, and a loss scale that changes.
struct Learner {
    nn::AnyCell net = nn::SequentialCell({nn::Dense(3, 8), nn::Dropout(0.3), nn::Dense(8, 2)});
    nn::Adam adam{net.trainable_params(), 0.05};
    Model model{net,
                nn::SoftmaxCrossEntropyWithLogits(true, "mean"),
                adam,
                {"accuracy"},
                nn::DynamicLossScaleManager(16, 2, 5)};
    std::vector<std::vector<float>> bits() const {
        std::vector<std::vector<float>> all;
        for (const Parameter &p : model.train_network().get_parameters())
            all.push_back(p.data().to_vector<float>());
        for (const Parameter &p : adam.get_parameters())
            all.push_back(p.data().to_vector<float>());
        return all;
    }
};

struct StopAt : Callback {
    explicit StopAt(int64_t s) : step(s) {}
    void on_train_step_end(RunContext &c) override { c.stop = c.global_step == step; }
    int64_t step;
};

double halved(double lr, int64_t step) {
    return step % 4 == 0 ? lr / 2 : lr;
}

}  // namespace

// Wherever a training stops, and whatever random state its successor begins with, it ends with the
// same bits.
TEST(ModelCheckpoint, ResumesToTheSameBits) {
    set_seed(7);
    const Learner whole;
    Model first = whole.model;
    // No accuracy exceeds that of the first epoch by 1, so the rate is reduced after the third.
    const auto plateau = [] {
        return ReduceLROnPlateau(
            {.monitor = "accuracy", .factor = 0.5, .patience = 2, .min_delta = 1});
    };
    first.fit(3, points(), points(), {LearningRateScheduler(halved), plateau()});
    const RngState end = get_rng_state();
    for (const auto &[stop, format] : {std::pair<int64_t, std::string>{1, "ckpt"},
                                       {4, "safetensors"},
                                       {6, "ckpt"},
                                       {11, "safetensors"},
                                       {12, "safetensors"}}) {
        const Folder folder;
        // It is the first callback, and still saves the effects of those behind it.
        const ModelCheckpoint checkpoint(
            "net", folder,
            {.save_checkpoint_steps = 1, .keep_checkpoint_max = 2, .format = format});
        set_seed(7);
        Learner before;
        before.model.fit(3, points(), points(),
                         {checkpoint, StopAt(stop), LearningRateScheduler(halved), plateau()});
        set_seed(99);
        Learner after;
        const TrainOptions from = after.model.resume(*latest_checkpoint(folder, "net"));
        EXPECT_EQ(from.initial_epoch * 6 + from.initial_step, stop);
        after.model.fit(3, points(), points(),
                        {checkpoint, LearningRateScheduler(halved), plateau()}, from);
        EXPECT_EQ(after.bits(), whole.bits()) << format << " stopped at " << stop;
        EXPECT_EQ(get_rng_state(), end);
        EXPECT_EQ(folder.files(), (Files{"net-3_5." + format, "net-3_6." + format}));
    }
}

TEST(ModelCheckpoint, WritesAsOftenAsConfigured) {
    const auto files_after = [](const CheckpointConfig &config, int64_t epochs) {
        const Folder folder;
        // The temporary file of a killed process.
        std::ofstream(folder.path / "net-7_7.ckpt.Ab3xYz") << "half";
        std::ofstream(folder.path / "network-1_1.ckpt") << "another one";
        Learner s;
        s.model.train(epochs, points(), {ModelCheckpoint("net", folder, config)});
        return folder.files();
    };
    EXPECT_EQ(files_after({.save_checkpoint_steps = 4, .format = "ckpt"}, 2),
              (Files{"net-1_4.ckpt", "net-2_2.ckpt", "net-2_6.ckpt", "network-1_1.ckpt"}));
    EXPECT_EQ(files_after({.save_checkpoint_steps = 5, .keep_checkpoint_max = 0}, 2),
              (Files{"net-2_6.ckpt", "network-1_1.ckpt"}));
    EXPECT_EQ(files_after({.save_checkpoint_steps = 0, .save_checkpoint_seconds = 1000}, 1),
              (Files{"net-1_6.ckpt", "network-1_1.ckpt"}));
}

std::string latest(const Folder &folder) {
    return fs::path(latest_checkpoint(folder, "net").value_or("none")).filename();
}

void damage(const fs::path &path) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp((std::streamoff)fs::file_size(path) / 2);
    file.put('\xA5').put('\x5A');
}

// The files' contents determine the last one; dates don't, because a copy has new ones.
TEST(ModelCheckpoint, ContentDeterminesTheLatest) {
    for (const std::string format : {"ckpt", "safetensors"}) {
        const Folder folder;
        const CheckpointConfig config = {
            .save_checkpoint_steps = 6, .keep_checkpoint_max = 9, .format = format};
        Learner s;
        s.model.train(3, points(), {ModelCheckpoint("net", folder, config)});
        const auto now = fs::file_time_type::clock::now();
        for (int epoch = 1; epoch <= 3; epoch++) {
            fs::last_write_time(folder.path / ("net-" + std::to_string(epoch) + "_6." + format),
                                now - std::chrono::hours(epoch));
        }
        EXPECT_EQ(latest(folder), "net-3_6." + format);
        // A training that starts again in the same folder is the later one, though it has fewer
        // epochs.
        Learner again;
        again.model.train(2, points(), {ModelCheckpoint("net", folder, config)});
        EXPECT_EQ(latest(folder), "net-2_6." + format);
        again.model.train(4, points(), {ModelCheckpoint("net", folder, config)},
                          again.model.resume(*latest_checkpoint(folder, "net")));
        EXPECT_EQ(latest(folder), "net-4_6." + format);
    }
}

TEST(ModelCheckpoint, UsesTheLatestUndamagedWithAWarning) {
    for (const std::string format : {"ckpt", "safetensors"}) {
        const Folder folder;
        Learner s;
        s.model.train(
            3, points(),
            {ModelCheckpoint("net", folder, {.save_checkpoint_steps = 6, .format = format})});
        damage(folder.path / ("net-3_6." + format));
        testing::internal::CaptureStderr();
        EXPECT_EQ(latest(folder), "net-2_6." + format);
        const std::string reported = testing::internal::GetCapturedStderr();
        EXPECT_NE(reported.find("net-3_6." + format), std::string::npos) << reported;
        EXPECT_NE(reported.find("it is passed over"), std::string::npos) << reported;
        std::ofstream(folder.path / ("net-2_6." + format)) << "";
        EXPECT_EQ(latest(folder), "net-1_6." + format);
        damage(folder.path / ("net-1_6." + format));
        EXPECT_THROW(latest(folder), IoError);
    }
}

TEST(ModelCheckpoint, RejectsANegativePosition) {
    const Folder folder;
    Learner s;
    const std::string path = folder.path / "net.safetensors";
    for (const char *key : {"epoch_num", "epoch_step"}) {
        save_training_state(path, s.model.train_network(), s.adam, {1, 2});
        NamedTensors file = load_checkpoint(path);
        file.metadata[key] = "-1";
        save_safetensors(path, file);
        expect_error<IoError>("[" + path + "] " + key + " is -1, expected at least 0",
                              [&] { s.model.resume(path); });
    }
}

TEST(Model, WarnsOfADifferentNumberOfSteps) {
    Learner s;
    testing::internal::CaptureStderr();
    s.model.train(1, points(), {}, {.notes = {{"Model.steps_per_epoch", 6}}});
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
    testing::internal::CaptureStderr();
    s.model.train(1, points(), {}, {.notes = {{"Model.steps_per_epoch", 12}}});
    EXPECT_NE(testing::internal::GetCapturedStderr().find(
                  "an epoch had 12 steps where the training stopped, and has 6 where it goes on"),
              std::string::npos);
}

// Loads the parts that an evaluation, or another training with the same optimiser, needs.
TEST(ModelCheckpoint, LoadsPartially) {
    const Folder folder;
    Learner s, other;
    s.model.train(1, points(), {ModelCheckpoint("net", folder, {.save_checkpoint_steps = 6})});
    const NamedTensors file = load_checkpoint(*latest_checkpoint(folder, "net"));
    EXPECT_EQ(file.metadata.at("epoch_num") + " " + file.metadata.at("epoch_step"), "1 0");
    const LoadReport net = load_param_into_net(other.net, file);
    const LoadReport optimizer = load_param_into_net(other.adam, file);
    EXPECT_TRUE(net.param_not_load.empty() && optimizer.param_not_load.empty());
    // The loss scale; step and rate; Adam's moments.
    EXPECT_EQ(net.ckpt_not_load.size(), 2 + 2 + 8u);
    EXPECT_EQ(other.adam.global_step(), 6);
    EXPECT_EQ(other.net.get_parameters()[0].data().to_vector<float>(),
              s.net.get_parameters()[0].data().to_vector<float>());
}

TEST(TrainingState, NotesAreNumbers) {
    const std::map<std::string, std::string> metadata = {{note_key("train.lr"), "0.25"},
                                                         {note_key("train.size"), "32px"},
                                                         {"rng_seed", "18446744073709551615"}};
    EXPECT_EQ(saved_note("f", metadata, "train.lr"), 0.25);
    EXPECT_EQ(saved_note("f", metadata, "train.augment"), std::nullopt);
    EXPECT_EQ(saved_seed("f", metadata), UINT64_MAX);
    EXPECT_EQ(saved_seed("f", {}), std::nullopt);
    expect_error<IoError>("[f] note: train.size is '32px', expected a number",
                          [&] { saved_note("f", metadata, "train.size"); });
}

TEST(ModelCheckpoint, RejectsIncompatibleCheckpoints) {
    const Folder folder;
    Learner s;
    s.model.train(
        1, points(),
        {ModelCheckpoint("weights", folder, {.save_checkpoint_steps = 6, .saved_network = s.net})});
    const std::string weights = folder.path / "weights-1_6.ckpt";
    expect_error<AttrError>("[resume] " + weights +
                                " has no epoch_num: it isn't the state of a training",
                            [&] { s.model.resume(weights); });
    s.model.train(1, points(), {ModelCheckpoint("net", folder, {.save_checkpoint_steps = 6})});
    Model other(s.net, {}, nn::SGD(s.net.trainable_params()));
    const std::vector<std::vector<float>> before = s.bits();
    // This optimiser has other state.
    EXPECT_THROW(other.resume(folder.path / "net-1_6.ckpt"), AttrError);
    EXPECT_EQ(s.bits(), before);
    EXPECT_THROW(s.model.resume(folder.path / "none.ckpt"), IoError);
    EXPECT_THROW(Model(s.net).resume(folder.path / "net-1_6.ckpt"), AttrError);
    EXPECT_FALSE(latest_checkpoint(folder, "nobody"));
    EXPECT_FALSE(latest_checkpoint("/nonexistent"));
    EXPECT_THROW(ModelCheckpoint("a/b"), AttrError);
    EXPECT_THROW(ModelCheckpoint("a", ".", {.format = "npz"}), AttrError);
    EXPECT_THROW(ModelCheckpoint("a", ".", {.keep_checkpoint_max = -1}), AttrError);
    EXPECT_THROW(s.model.train(1, points(), {ModelCheckpoint("a", "/proc/nowhere")}), IoError);
}

namespace {

// Passes one value per epoch, as fit() would.
template<class C> std::vector<double> rates_after(C &callback, const nn::Optimizer &optimizer,
                                                  const std::vector<double> &values) {
    RunContext c;
    c.optimizer = optimizer;
    c.valid_frequency = 1;
    callback.on_train_begin(c);
    std::vector<double> rates;
    for (const double v : values) {
        c.epoch++;
        c.eval_results = {{"eval_loss", v}};
        callback.on_train_epoch_end(c);
        rates.push_back(optimizer.learning_rate());
        if (c.stop) break;
    }
    callback.on_train_end(c);
    return rates;
}

}  // namespace

TEST(EarlyStopping, StopsAfterItsPatience) {
    const Learner s;
    const auto epochs = [&](EarlyStoppingOptions o, const std::vector<double> &values) {
        EarlyStopping e(std::move(o));
        const size_t ran = rates_after(e, s.adam, values).size();
        EXPECT_EQ(e.stopped_epoch(), ran < values.size() ? int64_t(ran) : 0);
        return ran;
    };
    EXPECT_EQ(epochs({.patience = 2}, {3, 2, 2.5, 1, 1.5, 1.2, 0.5, 0.4}), 6u);
    EXPECT_EQ(epochs({}, {3, 2, 2.5, 1}), 3u);
    EXPECT_EQ(epochs({.min_delta = 0.5, .patience = 1}, {3, 2, 1.6, 1}), 3u);
    EXPECT_EQ(epochs({.patience = 2, .mode = "max"}, {3, 2, 2.5, 1}), 3u);
    EXPECT_EQ(epochs({.patience = 2, .baseline = 1}, {3, 2, 1.5, 0.5}), 2u);
    EXPECT_THROW(EarlyStopping({.mode = "up"}), AttrError);
    EXPECT_THROW(EarlyStopping({.patience = -1}), AttrError);
}

TEST(EarlyStopping, StaysStoppedWhenResumed) {
    const Folder folder;
    const EarlyStopping stop({.monitor = "accuracy", .min_delta = 1, .patience = 2});
    Learner s, again;
    s.model.fit(9, points(), points(),
                {stop, ModelCheckpoint("net", folder, {.save_checkpoint_steps = 6})});
    EXPECT_EQ(s.adam.global_step(), 18);
    TrainOptions from = again.model.resume(*latest_checkpoint(folder, "net"));
    again.model.fit(9, points(), points(), {stop}, from);
    EXPECT_EQ(again.bits(), s.bits());
    from.notes.clear();
    again.model.fit(9, points(), points(), {stop}, from);
    EXPECT_EQ(again.adam.global_step(), 36);
}

TEST(EarlyStopping, RestoresTheBestWeights) {
    Learner s;
    std::vector<float> best;
    struct Watch : Callback {
        Watch(const nn::AnyCell &n, std::vector<float> &w) : net(n), out(w) {}
        void on_train_epoch_end(RunContext &c) override {
            if (c.epoch == 1) out = net.get_parameters()[0].data().to_vector<float>();
        }
        const nn::AnyCell &net;
        std::vector<float> &out;
    };
    // With "Accuracy" and smaller is better, every epoch after the first is worse.
    s.model.fit(9, points(), points(),
                {Watch(s.net, best), EarlyStopping({.monitor = "accuracy",
                                                    .min_delta = 1,
                                                    .patience = 2,
                                                    .mode = "min",
                                                    .restore_best_weights = true})});
    EXPECT_EQ(s.net.get_parameters()[0].data().to_vector<float>(), best);
    EXPECT_EQ(s.adam.global_step(), 18);
    // It is that epoch's value, too.
    EXPECT_EQ(s.model.train_network().parameters_dict().at("loss_scale").data().item(), 32);
    expect_error<AttrError>(
        "[EarlyStopping] monitor is top5, expected one of loss, accuracy, eval_loss",
        [&] { s.model.fit(1, points(), points(), {EarlyStopping({.monitor = "top5"})}); });
    expect_error<AttrError>(
        "[EarlyStopping] monitor is eval_loss, but train() evaluates nothing; fit() does",
        [&] { s.model.train(1, points(), {EarlyStopping()}); });
    s.model.train(1, points(), {EarlyStopping({.monitor = "loss"})});
}

TEST(ReduceLROnPlateau, ReducesAndCools) {
    const Learner s;
    ReduceLROnPlateau reduce({.factor = 0.5, .patience = 2, .cooldown = 2, .min_lr = 0.02});
    EXPECT_EQ(rates_after(reduce, s.adam, {3, 2, 2, 2, 2, 2, 2, 2, 2}),
              (std::vector<double>{0.05, 0.05, 0.05, 0.025, 0.025, 0.025, 0.02, 0.02, 0.02}));
    EXPECT_THROW(ReduceLROnPlateau({.factor = 1}), AttrError);
}

TEST(BestCheckpoint, KeepsTheBestEpoch) {
    const Folder folder;
    Learner s;
    const std::string path = folder.path / "best.safetensors";
    BestCheckpoint best(path, {.monitor = "accuracy"});
    RunContext c;
    c.network = s.net;
    c.valid_frequency = 1;
    best.on_train_begin(c);
    for (const double v : {0.5, 0.75, 0.7}) {
        c.epoch++;
        c.eval_results = {{"accuracy", v}};
        best.on_train_epoch_end(c);
    }
    const NamedTensors file = load_checkpoint(path);
    EXPECT_EQ(file.metadata.at("epoch_num"), "2");
    EXPECT_EQ(std::stod(file.metadata.at("accuracy")), 0.75);
    EXPECT_TRUE(load_param_into_net(s.net, file, true).complete());
}

TEST(LearningRateScheduler, SetsTheRateOfTheNextStep) {
    Learner s;
    std::vector<double> rates;
    struct Rates : Callback {
        explicit Rates(std::vector<double> &r) : out(r) {}
        void on_train_step_end(RunContext &c) override { out.push_back(c.learning_rate); }
        std::vector<double> &out;
    };
    s.model.train(
        1, points(),
        {LearningRateScheduler([](double lr, int64_t step) { return step % 2 ? lr : lr / 5; }),
         Rates(rates)});
    EXPECT_EQ(rates,
              (std::vector<double>{0.05, 0.05, 0.05 / 5, 0.05 / 5, 0.05 / 5 / 5, 0.05 / 5 / 5}));
}

}  // namespace halyard
