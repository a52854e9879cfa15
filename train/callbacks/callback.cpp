#include "train/callbacks/callback.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>

#include "registry/base/error.h"
#include "train/callbacks/time_text.h"

namespace halyard {

double RunContext::loss() const {
    double sum = 0;
    const std::vector<double> values = net_outputs.to_vector<double>();
    for (const double v : values)
        sum += v;
    return sum / double(values.size());
}

const char *RunContext::unit() const {
    return data.defined() && data.rank() == 4 ? "images" : "samples";
}

LossMonitor::LossMonitor(int64_t per_print_times) : LossMonitor(per_print_times, std::cout) {}

LossMonitor::LossMonitor(int64_t per_print_times, std::ostream &out)
    : every_(per_print_times), out_(&out) {
    if (per_print_times < 0) {
        throw AttrError("LossMonitor", "per_print_times is " + std::to_string(per_print_times) +
                                           ", expected at least 0");
    }
}

void LossMonitor::on_train_step_end(RunContext &c) {
    const double loss = c.loss();
    if (!std::isfinite(loss)) {
        throw Error("LossMonitor", "epoch " + std::to_string(c.epoch) + " step " +
                                       std::to_string(c.step) + ": the loss is " +
                                       format("%g", loss));
    }
    if (every_ && c.global_step % every_ == 0) print(c);
}

void LossMonitor::on_train_epoch_end(RunContext &c) {
    if (!every_ && c.step) print(c);
}

void LossMonitor::print(const RunContext &c) const {
    *out_ << "epoch: " << c.epoch << " step: " << c.step << ", loss is " << format("%.8g", c.loss())
          << std::endl;
}

void LearningRateScheduler::on_train_step_end(RunContext &c) {
    if (!c.optimizer) throw AttrError("LearningRateScheduler", "the training has no optimiser");
    const double now = c.optimizer->learning_rate();
    const double next = function_(now, c.global_step);
    if (next != now) c.optimizer->set_learning_rate(next);
}

TimeMonitor::TimeMonitor() : TimeMonitor(TimeMonitorOptions()) {}

TimeMonitor::TimeMonitor(const TimeMonitorOptions &options) : TimeMonitor(options, std::cout) {}

TimeMonitor::TimeMonitor(const TimeMonitorOptions &options, std::ostream &out)
    : options_(options), out_(&out) {
    if (options.data_size < 0) {
        throw AttrError("TimeMonitor", "data_size is " + std::to_string(options.data_size) +
                                           ", expected at least 0");
    }
    if (options.per_print_times < 0) {
        throw AttrError("TimeMonitor", "per_print_times is " +
                                           std::to_string(options.per_print_times) +
                                           ", expected at least 0");
    }
}

void TimeMonitor::reset(Span &s, int64_t step) const {
    s = {std::chrono::steady_clock::now(), step, 0, 0};
}

std::string TimeMonitor::text(const Span &s, int64_t steps) const {
    const double ms = milliseconds(std::chrono::steady_clock::now() - s.begin) - s.excluded;
    const double n = double(std::max<int64_t>(steps, 1));
    return format("%.3f ms, per step time: %.3f ms", ms, ms / n) +
           (options_.data_time ? format(" (data time: %.3f ms)", s.data / n) : "");
}

void TimeMonitor::on_train_epoch_begin(RunContext &c) {
    reset(epoch_, c.step);
    reset(steps_, c.step);
}

void TimeMonitor::on_train_step_end(RunContext &c) {
    epoch_.data += c.data_seconds * 1e3;
    steps_.data += c.data_seconds * 1e3;
    if (!options_.per_print_times || c.global_step % options_.per_print_times != 0) return;
    const std::string all = text(steps_, c.step - steps_.first_step);
    *out_ << "epoch: " << c.epoch << " step: " << c.step << ", " << all.substr(all.find("per step"))
          << std::endl;
    reset(steps_, c.step);
}

void TimeMonitor::on_train_epoch_end(RunContext &c) {
    *out_ << "Train epoch time: "
          << text(epoch_, options_.data_size ? options_.data_size : c.step - epoch_.first_step)
          << std::endl;
}

void TimeMonitor::on_eval_begin(RunContext &) {
    reset(eval_, 0);
}
void TimeMonitor::on_eval_step_end(RunContext &c) {
    eval_.data += c.data_seconds * 1e3;
}
void TimeMonitor::on_eval_end(RunContext &c) {
    epoch_.excluded += milliseconds(std::chrono::steady_clock::now() - eval_.begin);
    *out_ << "Eval epoch time: " << text(eval_, c.eval_step) << std::endl;
}

}  // namespace halyard
