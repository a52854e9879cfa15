// RunRecorder: a training as a run file, JSON that `halyard report` makes a page of.
#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "train/callbacks/callback.h"

namespace halyard {

struct RunRecorderOptions {
    std::string title = "Training";  // of the page's section
    // {"network", "ResNet-50"}, ...: stands beside the curves
    std::vector<std::pair<std::string, std::string>> about = {};
};

// Loss, learning rate, time, waiting for data, queue depth and images per second of every step;
// epochs; results of evaluations. The file is written several times a second as long as that takes
// little, and when the training ends: a program that is killed leaves the last one. What a file at
// `path` has of the steps before the first one here, of a training that goes on, is kept; an epoch
// that was interrupted has the numbers of its last part. Throws IoError.
//
// A point is one step until there are `most_points`; then every two become one, their mean, and so
// on: a file stays below 2 MB.
class RunRecorder : public Callback {
public:
    explicit RunRecorder(std::string path, RunRecorderOptions options = {})
        : path_(std::move(path)), options_(std::move(options)) {}
    void on_train_begin(RunContext &c) override;
    void on_train_epoch_begin(RunContext &c) override;
    void on_train_step_end(RunContext &c) override;
    void on_eval_begin(RunContext &c) override;
    void on_eval_end(RunContext &c) override;
    void on_train_epoch_end(RunContext &c) override;
    void on_train_end(RunContext &c) override;

    static constexpr size_t most_points = 1 << 14;

private:
    using Clock = std::chrono::steady_clock;
    struct Point {
        double step = 0, loss = 0, learning_rate = 0, seconds = 0, wait = 0, queue = 0, samples = 0;
    };
    struct Epoch {
        int64_t epoch, step;
        double loss, learning_rate, seconds, wait, samples;
    };
    struct Evaluation {
        int64_t epoch, step;
        std::map<std::string, double> results;
    };
    static void halve(std::vector<Point> &points);
    void add(const Point &p);
    void restore(int64_t step);
    void save() const;

    std::string path_;
    RunRecorderOptions options_;
    int64_t epochs_ = 0, steps_per_epoch_ = 0, queue_capacity_ = 0, stride_ = 1;
    std::string cpu_, begun_, unit_ = "samples";
    std::vector<Point> points_, waiting_;  // waiting: fewer than stride_ steps
    std::vector<Epoch> ended_;
    std::vector<Evaluation> evaluations_;
    // how many steps took from 1.02^k to 1.02^(k+1) seconds
    std::map<int64_t, int64_t> step_times_;
    Point epoch_sum_;
    int64_t epoch_steps_ = 0, step_before_ = 0, last_epoch_ = 0, last_step_ = 0;
    Clock::time_point step_end_, saved_;
    double save_seconds_ = 0;       // of the last time
    Clock::duration evaluating_{};  // since step_end_
    Clock::time_point eval_begin_;
};

}  // namespace halyard
