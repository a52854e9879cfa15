#include "train/callback.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>

#include "registry/error.h"

namespace halyard {
namespace {

double milliseconds(std::chrono::steady_clock::duration d) { return std::chrono::duration<double, std::milli>(d).count(); }

std::string format(const char *pattern, double a, double b = 0) {
    char text[160];
    std::snprintf(text, sizeof text, pattern, a, b);
    return text;
}

}  // namespace

double RunContext::loss() const {
    double sum = 0;
    const std::vector<double> values = net_outputs.to_vector<double>();
    for (const double v : values) sum += v;
    return sum / (double)values.size();
}

LossMonitor::LossMonitor(int64_t per_print_times) : LossMonitor(per_print_times, std::cout) {}

LossMonitor::LossMonitor(int64_t per_print_times, std::ostream &out) : every_(per_print_times), out_(&out) {
    if (per_print_times < 0) throw AttrError("LossMonitor", "per_print_times is " + std::to_string(per_print_times) + ", expected at least 0");
}

void LossMonitor::on_train_step_end(RunContext &c) {
    const double loss = c.loss();
    if (!std::isfinite(loss))
        throw Error("LossMonitor", "epoch " + std::to_string(c.epoch) + " step " + std::to_string(c.step) + ": the loss is " + format("%g", loss));
    if (every_ && c.global_step % every_ == 0) print(c);
}

void LossMonitor::on_train_epoch_end(RunContext &c) {
    if (!every_ && c.step) print(c);
}

void LossMonitor::print(const RunContext &c) const {
    *out_ << "epoch: " << c.epoch << " step: " << c.step << ", loss is " << format("%.8g", c.loss()) << std::endl;
}

void LearningRateScheduler::on_train_step_end(RunContext &c) {
    if (!c.optimizer) throw AttrError("LearningRateScheduler", "the training has no optimiser");
    const double now = c.optimizer->learning_rate(), next = function_(now, c.global_step);
    if (next != now) c.optimizer->set_learning_rate(next);
}

TimeMonitor::TimeMonitor() : TimeMonitor(std::cout) {}

void TimeMonitor::on_train_epoch_begin(RunContext &) { begin_ = std::chrono::steady_clock::now(); }

void TimeMonitor::on_train_epoch_end(RunContext &c) {
    const double ms = milliseconds(std::chrono::steady_clock::now() - begin_);
    *out_ << format("Train epoch time: %.3f ms, per step time: %.3f ms", ms, ms / (double)std::max<int64_t>(c.step, 1)) << std::endl;
}

ProgressBar::ProgressBar() : ProgressBar(std::cerr, isatty(STDERR_FILENO) != 0) {}

void ProgressBar::on_train_epoch_begin(RunContext &) {
    begin_ = std::chrono::steady_clock::now();
    sum_ = 0, count_ = 0;
}

void ProgressBar::on_train_step_end(RunContext &c) {
    sum_ += c.loss(), count_++;
    const auto now = std::chrono::steady_clock::now();
    // Ten times a second is as often as one can look.
    if (!terminal_ || milliseconds(now - drawn_) < 100) return;
    drawn_ = now;
    *out_ << '\r' << line(c) << "\033[K" << std::flush;
}

void ProgressBar::on_train_epoch_end(RunContext &c) { *out_ << (terminal_ ? "\r" : "") << line(c) << (terminal_ ? "\033[K\n" : "\n") << std::flush; }

std::string ProgressBar::line(const RunContext &c) const {
    std::string s = "epoch " + std::to_string(c.epoch) + "/" + std::to_string(c.epochs);
    if (terminal_ && c.steps_per_epoch > 0) {
        constexpr int64_t width = 32, eighths = width * 8;
        static constexpr const char *parts[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
        const int64_t filled = std::min(eighths, eighths * c.step / c.steps_per_epoch);
        s += " ▕";
        for (int64_t i = 0; i < filled / 8; i++) s += "█";
        s += parts[filled % 8];
        for (int64_t i = (filled + 7) / 8; i < width; i++) s += ' ';
        s += "▏";
    }
    s += " " + std::to_string(c.step) + "/" + std::to_string(c.steps_per_epoch);
    const double ms = milliseconds(std::chrono::steady_clock::now() - begin_);
    return s + format("  loss %.4f  %.2f ms/step", count_ ? sum_ / (double)count_ : 0, ms / (double)std::max<int64_t>(c.step, 1));
}

}  // namespace halyard
