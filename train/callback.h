// Callbacks: whom Model tells while it trains and evaluates. Names follow MindSpore.
#pragma once
#include <chrono>
#include <concepts>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "train/run_context.h"

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
    virtual void on_eval_end(RunContext &) {}            // eval_results are there
    virtual bool after_others() const { return false; }  // hears of each event after the callbacks that don't say so
};

// Any callback, by value or shared: model.train(10, data, {LossMonitor(), my_shared_callback}).
class AnyCallback {
public:
    template<std::derived_from<Callback> T> AnyCallback(T callback) : callback_(std::make_shared<T>(std::move(callback))) {}
    template<std::derived_from<Callback> T> AnyCallback(std::shared_ptr<T> callback) : callback_(std::move(callback)) {}
    Callback *operator->() const { return callback_.get(); }

private:
    std::shared_ptr<Callback> callback_;
};
using Callbacks = std::vector<AnyCallback>;

// After every step the learning rate becomes function(rate, steps so far). Throws AttrError where it isn't a number (Optimizer::set_learning_rate).
class LearningRateScheduler : public Callback {
public:
    explicit LearningRateScheduler(std::function<double(double lr, int64_t cur_step_num)> function) : function_(std::move(function)) {}
    void on_train_step_end(RunContext &c) override;

private:
    std::function<double(double, int64_t)> function_;
};

// "epoch: 1 step: 44, loss is 2.30" every per_print_times steps (0: at the end of each epoch). Stops with an Error when the loss is NaN or infinite.
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

// "Train epoch time: 350.1 ms, per step time: 8.0 ms" after every epoch.
class TimeMonitor : public Callback {
public:
    TimeMonitor();
    explicit TimeMonitor(std::ostream &out) : out_(&out) {}
    void on_train_epoch_begin(RunContext &c) override;
    void on_train_epoch_end(RunContext &c) override;

private:
    std::ostream *out_;
    std::chrono::steady_clock::time_point begin_;
};

// One line per epoch that fills up on a terminal; in files and pipes one plain line at the end of each epoch.
class ProgressBar : public Callback {
public:
    ProgressBar();  // on standard error, drawn when that is a terminal
    ProgressBar(std::ostream &out, bool terminal) : out_(&out), terminal_(terminal) {}
    void on_train_epoch_begin(RunContext &c) override;
    void on_train_step_end(RunContext &c) override;
    void on_train_epoch_end(RunContext &c) override;

private:
    std::string line(const RunContext &c) const;
    std::ostream *out_;
    bool terminal_;
    std::chrono::steady_clock::time_point begin_, drawn_;
    double sum_ = 0;  // of the epoch's losses so far
    int64_t count_ = 0;
};

// Writes an HTML file with the loss of every step and of every epoch as a picture (SVG inside, nothing loaded from elsewhere),
// after every epoch. Throws IoError when the file can't be written.
class LossCurve : public Callback {
public:
    explicit LossCurve(std::string path, std::string title = "Training loss") : path_(std::move(path)), title_(std::move(title)) {}
    void on_train_step_end(RunContext &c) override;
    void on_train_epoch_end(RunContext &c) override;
    std::string html() const;

private:
    std::string path_, title_;
    std::vector<double> losses_;      // one per step
    std::vector<size_t> epoch_ends_;  // number of steps at the end of each epoch
};

}  // namespace halyard
