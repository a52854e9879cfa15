// RunRecorder: writes a training into a run file, JSON from which `halyard report` makes a page.
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
    std::string title = "Training";  // the title of the page's section
    // Facts that the page shows beside the curves: {"network", "ResNet-50"}, ...
    std::vector<std::pair<std::string, std::string>> about = {};
};

// Records loss, learning rate, time, time waiting for data, queue depth and images per second of
// every step, and the results of epochs and evaluations. The file is written several times a second
// while that is cheap, and when the training ends; a program that is killed leaves the last
// version. If a training is resumed, the steps before it are taken from the existing file; an
// interrupted epoch has the numbers of its last part. Throws IoError.
//
// A point is one step until there are max_points. Then each two points become one, their mean, and
// so on, so that a file stays below 2 MB.
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

    static constexpr size_t max_points = 1 << 14;

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
    std::vector<Point> points_;
    std::vector<Point> pending_;  // fewer than stride_ steps, not yet a point
    std::vector<Epoch> ended_;
    std::vector<Evaluation> evaluations_;
    // Key k: the number of steps that took from 1.02^k to 1.02^(k + 1) seconds.
    std::map<int64_t, int64_t> step_times_;
    Point epoch_sum_;
    int64_t epoch_steps_ = 0, step_before_ = 0, last_epoch_ = 0, last_step_ = 0;
    Clock::time_point step_end_, saved_;
    double save_seconds_ = 0;       // the duration of the last save
    Clock::duration evaluating_{};  // the time of evaluations since step_end_
    Clock::time_point eval_begin_;
};

}  // namespace halyard
