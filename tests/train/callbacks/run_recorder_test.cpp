#include "train/callbacks/run_recorder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "registry/base/error.h"

namespace halyard {
namespace {
namespace fs = std::filesystem;
using nlohmann::json;

class RunRecorderTest : public testing::Test {
protected:
    void TearDown() override { fs::remove(path); }
    json saved() const { return json::parse(std::ifstream(path)); }
    // Records epochs of ten steps, whose loss is the step's number, up to `to`.
    void train(RunRecorder &r, int64_t from, int64_t to, double last_loss = 0) const {
        RunContext c;
        c.epochs = (to + 9) / 10;
        c.steps_per_epoch = 10;
        c.global_step = from;
        c.batch_size = 32;
        c.queue_depth = 3;
        c.queue_capacity = 4;
        c.learning_rate = 0.1;
        c.data_seconds = 0.001;
        r.on_train_begin(c);
        while (c.global_step < to) {
            c.epoch = c.global_step / 10 + 1;
            c.step = c.global_step % 10;
            r.on_train_epoch_begin(c);
            while (c.global_step < to && c.step < 10) {
                c.step++;
                c.global_step++;
                c.net_outputs = Tensor::scalar(
                    c.global_step == to && last_loss ? last_loss : double(c.global_step));
                r.on_train_step_end(c);
            }
            c.optimizer = nn::Momentum(ParameterTuple{Parameter(Tensor::ones({1}))}, 0.1, 0.9);
            c.eval_results = {{"accuracy", 0.5}};
            r.on_eval_begin(c);
            r.on_eval_end(c);
            r.on_train_epoch_end(c);
        }
        r.on_train_end(c);
    }
    std::string path = (fs::temp_directory_path() /
                        ("halyard_run_" + std::to_string(getpid()) + ".json"))
                           .string();
};

TEST_F(RunRecorderTest, SavesStepsEpochsAndEvaluations) {
    RunRecorder r(path, {.title = "LeNet5", .about = {{"seed", "10"}}});
    train(r, 0, 20, std::numeric_limits<double>::infinity());
    const json run = saved();
    EXPECT_EQ(run["kind"], "halyard train");
    EXPECT_EQ(run["title"], "LeNet5");
    EXPECT_EQ(run["about"], json::parse(R"([["seed", "10"]])"));
    EXPECT_EQ(run["stride"], 1);
    EXPECT_EQ(run["unit"], "samples");
    EXPECT_EQ(run["queue_capacity"], 4);
    ASSERT_EQ(run["steps"]["loss"].size(), 20u);
    EXPECT_EQ(run["steps"]["step"][4], 5);
    EXPECT_EQ(run["steps"]["loss"][4], 5);
    EXPECT_TRUE(run["steps"]["loss"][19].is_null());
    EXPECT_EQ(run["steps"]["queue"][4], 3);
    EXPECT_EQ(run["steps"]["samples"][4], 32);
    ASSERT_EQ(run["ended"].size(), 2u);
    EXPECT_EQ(run["ended"][0]["loss"], 5.5);
    EXPECT_EQ(run["ended"][0]["samples"], 320);
    EXPECT_EQ(run["evaluations"][1],
              json::parse(R"({"epoch": 2, "step": 20, "results": {"accuracy": 0.5}})"));
    int64_t counted = 0;
    for (const json &bin : run["step_times"])
        counted += bin[1].get<int64_t>();
    EXPECT_EQ(counted, 20);
    RunContext after;  // Model::eval() after the training.
    after.eval_results = {{"accuracy", 0.75}};
    r.on_eval_begin(after);
    r.on_eval_end(after);
    EXPECT_EQ(saved()["evaluations"][2],
              json::parse(R"({"epoch": 2, "step": 20, "results": {"accuracy": 0.75}})"));
}

TEST_F(RunRecorderTest, MergesStepsWhenThereAreMany) {
    RunRecorder r(path);
    const auto steps = int64_t(RunRecorder::max_points) * 2 + 40;
    train(r, 0, steps);
    const json run = saved();
    EXPECT_EQ(run["stride"], 4);
    const json &step = run["steps"]["step"];
    const json &loss = run["steps"]["loss"];
    ASSERT_EQ(step.size(), size_t(steps / 4));
    for (size_t i = 0; i < step.size(); i += 1000) {
        EXPECT_EQ(step[i], 4 * (i + 1));
        EXPECT_EQ(loss[i], 4 * double(i) + 2.5);
    }
    EXPECT_LT(fs::file_size(path), 2u << 20);
}

TEST_F(RunRecorderTest, ResumesTheFileOfAnInterruptedTraining) {
    RunRecorder first(path);
    train(first, 0, 27);  // Killed when its last checkpoint was of step 20.
    RunRecorder second(path);
    train(second, 20, 40);
    const json run = saved();
    ASSERT_EQ(run["steps"]["step"].size(), 40u);
    for (int64_t i = 0; i < 40; i++)
        EXPECT_EQ(run["steps"]["step"][size_t(i)], i + 1);
    EXPECT_EQ(run["ended"].size(), 4u);
    EXPECT_EQ(run["evaluations"].size(), 4u);
    train(second, 0, 10);  // A new training with the same recorder.
    EXPECT_EQ(saved()["steps"]["step"].size(), 10u);
    json damaged = saved();
    const auto rejected = [&](const json &file) {
        std::ofstream(path) << file;
        RunRecorder third(path);
        EXPECT_THROW(train(third, 5, 20), IoError) << file;
    };
    rejected({{"kind", "notes"}});
    for (const json &bin : {json::array({0, 1}), json::array({"soon", 1}), json::array()}) {
        damaged["step_times"] = json::array({bin});
        rejected(damaged);
    }
    damaged["stride"] = 3;
    rejected(damaged);
    EXPECT_THROW(RunRecorder("/proc/none/run.json").on_train_end(*std::make_unique<RunContext>()),
                 IoError);
}

}  // namespace
}  // namespace halyard
