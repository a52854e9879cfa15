// Callbacks: objects whose functions Model calls while it trains and evaluates. Names are
// MindSpore's.
#pragma once
#include <chrono>
#include <concepts>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "train/callbacks/run_context.h"

namespace halyard {

class Callback {
public:
    virtual ~Callback() = default;
    virtual void on_train_begin(RunContext &) {}
    virtual void on_train_epoch_begin(RunContext &) {}
    virtual void on_train_step_begin(RunContext &) {}
    virtual void on_train_step_end(RunContext &) {}
    virtual void on_train_epoch_end(RunContext &) {}
    virtual void on_train_end(RunContext &) {}
    virtual void on_eval_begin(RunContext &) {}
    virtual void on_eval_step_begin(RunContext &) {}
    virtual void on_eval_step_end(RunContext &) {}
    virtual void on_eval_end(RunContext &) {}  // eval_results are set
    // Returns true if the callback is called after those that return false.
    virtual bool after_others() const { return false; }
};

// Holds any callback, by value or shared: model.train(10, data, {LossMonitor(),
// my_shared_callback}).
class AnyCallback {
public:
    template<std::derived_from<Callback> T> AnyCallback(T callback)
        : callback_(std::make_shared<T>(std::move(callback))) {}
    template<std::derived_from<Callback> T> AnyCallback(std::shared_ptr<T> callback)
        : callback_(std::move(callback)) {}
    Callback *operator->() const { return callback_.get(); }

private:
    std::shared_ptr<Callback> callback_;
};
using Callbacks = std::vector<AnyCallback>;

// Sets the learning rate to function(rate, steps so far) after every step. Throws AttrError if the
// rate is not a constant (Optimizer::set_learning_rate).
class LearningRateScheduler : public Callback {
public:
    explicit LearningRateScheduler(std::function<double(double lr, int64_t cur_step_num)> function)
        : function_(std::move(function)) {}
    void on_train_step_end(RunContext &c) override;

private:
    std::function<double(double, int64_t)> function_;
};

// Prints "epoch: 1 step: 44, loss is 2.30" every per_print_times steps (0: at the end of each
// epoch). Throws Error if the loss is NaN or infinite.
class LossMonitor : public Callback {
public:
    explicit LossMonitor(int64_t per_print_times = 1);
    LossMonitor(int64_t per_print_times, std::ostream &out);
    void on_train_step_end(RunContext &c) override;
    void on_train_epoch_end(RunContext &c) override;

private:
    void print(const RunContext &c) const;
    int64_t every_;
    std::ostream *out_;
};

struct TimeMonitorOptions {
    int64_t data_size = 0;        // steps of an epoch; 0: the number of steps that ran
    int64_t per_print_times = 0;  // prints also after so many steps; 0: after epochs only
    bool data_time = false;       // prints also how long steps waited for their batches
};

// Prints "Train epoch time: 350.100 ms, per step time: 8.000 ms" after every epoch. Evaluation is
// not included; it has a line of its own, "Eval epoch time: ...". With per_print_times it also
// prints "epoch: 1 step: 10, per step time: 8.000 ms" for the steps since the previous line.
class TimeMonitor : public Callback {
public:
    TimeMonitor();
    explicit TimeMonitor(const TimeMonitorOptions &options);
    // Throws AttrError for numbers below 0.
    TimeMonitor(const TimeMonitorOptions &options, std::ostream &out);
    explicit TimeMonitor(std::ostream &out) : TimeMonitor(TimeMonitorOptions(), out) {}
    void on_train_epoch_begin(RunContext &c) override;
    void on_train_step_end(RunContext &c) override;
    void on_train_epoch_end(RunContext &c) override;
    void on_eval_begin(RunContext &c) override;
    void on_eval_step_end(RunContext &c) override;
    void on_eval_end(RunContext &c) override;

private:
    // The time since reset(), in milliseconds: in all, waiting for data, and not counted.
    struct Span {
        std::chrono::steady_clock::time_point begin;
        int64_t first_step = 0;
        double data = 0, excluded = 0;
    };
    void reset(Span &s, int64_t step) const;
    std::string text(const Span &s, int64_t steps) const;
    TimeMonitorOptions options_;
    std::ostream *out_;
    Span epoch_, steps_, eval_;
};

// Prints the progress of a training, one line per epoch: the epoch's mean loss so far, time per
// step and images per second without evaluations, the mean number of batches in the data queue, and
// the remaining time of all epochs. On a terminal the line is redrawn ten times a second in the
// terminal's width. In files and pipes it is printed at the end of each epoch and once a minute.
class ProgressBar : public Callback {
public:
    // Prints on standard error, as a bar if that is a terminal.
    ProgressBar();
    // `columns` is the terminal's width; 0 means that of standard error.
    ProgressBar(std::ostream &out, bool terminal, int columns = 0)
        : out_(&out), terminal_(terminal), columns_(columns) {}
    void on_train_begin(RunContext &c) override;
    void on_train_epoch_begin(RunContext &c) override;
    void on_train_step_end(RunContext &c) override;
    void on_eval_begin(RunContext &c) override;
    void on_eval_step_end(RunContext &c) override;
    void on_eval_end(RunContext &c) override;
    void on_train_epoch_end(RunContext &c) override;

private:
    using Clock = std::chrono::steady_clock;
    std::string line(const RunContext &c, bool ended) const;
    void draw(const std::string &text, bool ended);
    std::ostream *out_;
    bool terminal_;
    int columns_;
    Clock::time_point train_begin_, epoch_begin_, eval_begin_, drawn_;
    Clock::duration evaluating_{};  // the time of evaluations since epoch_begin_
    double sum_ = 0;                // the sum of the epoch's losses
    double queue_sum_ = 0;          // the sum of the queue's depths in the epoch's steps
    int64_t count_ = 0, samples_ = 0, step_before_ = 0, epoch_first_ = 0, first_step_ = 0;
};

}  // namespace halyard
