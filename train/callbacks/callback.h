// Callbacks: whom Model tells while it trains and evaluates. Names follow MindSpore.
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
    virtual void on_eval_end(RunContext &) {}  // eval_results are there
    // hears of each event after the callbacks that don't say so
    virtual bool after_others() const { return false; }
};

// Any callback, by value or shared: model.train(10, data, {LossMonitor(), my_shared_callback}).
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

// After every step the learning rate becomes function(rate, steps so far). Throws AttrError where
// it isn't a number (Optimizer::set_learning_rate).
class LearningRateScheduler : public Callback {
public:
    explicit LearningRateScheduler(std::function<double(double lr, int64_t cur_step_num)> function)
        : function_(std::move(function)) {}
    void on_train_step_end(RunContext &c) override;

private:
    std::function<double(double, int64_t)> function_;
};

// "epoch: 1 step: 44, loss is 2.30" every per_print_times steps (0: at the end of each epoch).
// Stops with an Error when the loss is NaN or infinite.
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
    int64_t data_size = 0;        // steps of an epoch, where that isn't how many there were
    int64_t per_print_times = 0;  // also a line every that many steps; 0: of epochs only
    bool data_time = false;       // also how long steps waited for their batches
};

// "Train epoch time: 350.100 ms, per step time: 8.000 ms" after every epoch, without its
// evaluation, which has a line of its own: "Eval epoch time: ...". With per_print_times "epoch: 1
// step: 10, per step time: 8.000 ms" of the steps since the line before.
class TimeMonitor : public Callback {
public:
    TimeMonitor();
    explicit TimeMonitor(const TimeMonitorOptions &options);
    // throws AttrError for numbers below 0
    TimeMonitor(const TimeMonitorOptions &options, std::ostream &out);
    explicit TimeMonitor(std::ostream &out) : TimeMonitor(TimeMonitorOptions(), out) {}
    void on_train_epoch_begin(RunContext &c) override;
    void on_train_step_end(RunContext &c) override;
    void on_train_epoch_end(RunContext &c) override;
    void on_eval_begin(RunContext &c) override;
    void on_eval_step_end(RunContext &c) override;
    void on_eval_end(RunContext &c) override;

private:
    // Milliseconds of a number of steps, from reset().
    struct Span {
        std::chrono::steady_clock::time_point begin;
        int64_t first_step = 0;
        double data = 0, left_out = 0;
    };
    void reset(Span &s, int64_t step) const;
    std::string text(const Span &s, int64_t steps) const;
    TimeMonitorOptions options_;
    std::ostream *out_;
    Span epoch_, steps_, eval_;
};

// How far the training is, on one line per epoch: loss (the epoch's mean so far), time per step and
// images per second (evaluations left out), how many batches were ready in the data queue on
// average, and how long the rest of all epochs will take. On a terminal it fills up and is drawn
// again ten times a second, as wide as the terminal; in files and pipes it is a plain line at the
// end of each epoch and, in epochs that take longer, one per minute.
class ProgressBar : public Callback {
public:
    ProgressBar();  // on standard error, drawn when that is a terminal
    // columns: of the terminal; 0: as many as standard error's has
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
    Clock::duration evaluating_{};  // since epoch_begin_
    double sum_ = 0;                // of the epoch's losses so far
    double queue_sum_ = 0;          // of the queue's depth in the epoch's steps
    int64_t count_ = 0, samples_ = 0, step_before_ = 0, epoch_first_ = 0, first_step_ = 0;
};

}  // namespace halyard
