#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>

#include "train/callbacks/callback.h"
#include "train/callbacks/time_text.h"

namespace halyard {
namespace {

// Returns "0:07", "12:30" or "3:02:10".
std::string duration(double seconds) {
    const auto s = int64_t(std::llround(seconds));
    char text[32];
    if (s < 3600)
        std::snprintf(text, sizeof text, "%d:%02d", int(s / 60), int(s % 60));
    else {
        std::snprintf(text, sizeof text, "%lld:%02d:%02d", (long long)(s / 3600), int(s / 60 % 60),
                      int(s % 60));
    }
    return text;
}

int terminal_columns() {
    winsize size{};
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

std::string bar(int64_t width, int64_t part, int64_t whole) {
    static constexpr const char *parts[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    const int64_t eighths = width * 8;
    const int64_t filled = std::min(eighths, eighths * part / whole);
    std::string s = " ▕";
    for (int64_t i = 0; i < filled / 8; i++)
        s += "█";
    s += parts[filled % 8];
    for (int64_t i = (filled + 7) / 8; i < width; i++)
        s += ' ';
    return s + "▏";
}

}  // namespace

ProgressBar::ProgressBar() : ProgressBar(std::cerr, isatty(STDERR_FILENO) != 0) {}

void ProgressBar::on_train_begin(RunContext &c) {
    train_begin_ = Clock::now();
    first_step_ = c.global_step;
}

void ProgressBar::on_train_epoch_begin(RunContext &c) {
    epoch_begin_ = Clock::now();
    evaluating_ = {};
    if (!terminal_) drawn_ = epoch_begin_;
    sum_ = 0;
    queue_sum_ = 0;
    count_ = 0;
    samples_ = 0;
    step_before_ = epoch_first_ = c.step;
}

void ProgressBar::on_train_step_end(RunContext &c) {
    sum_ += c.loss();
    count_++;
    queue_sum_ += double(c.queue_depth);
    samples_ += c.batch_size * (c.step - step_before_);
    step_before_ = c.step;
    // Drawing more than ten times a second would not be visible.
    const double between = terminal_ ? 100 : 60e3;
    if (milliseconds(Clock::now() - drawn_) >= between) draw(line(c, false), false);
}

void ProgressBar::on_eval_begin(RunContext &) {
    eval_begin_ = Clock::now();
}

void ProgressBar::on_eval_step_end(RunContext &c) {
    if (!terminal_ || milliseconds(Clock::now() - drawn_) < 100) return;
    std::string text = "evaluation " + std::to_string(c.eval_step);
    if (c.eval_steps > 0) text += "/" + std::to_string(c.eval_steps);
    draw(text, false);
}

void ProgressBar::on_eval_end(RunContext &) {
    evaluating_ += Clock::now() - eval_begin_;
}

void ProgressBar::on_train_epoch_end(RunContext &c) {
    draw(line(c, true), true);
}

void ProgressBar::draw(const std::string &text, bool ended) {
    drawn_ = Clock::now();
    *out_ << (terminal_ ? "\r" : "") << text << (terminal_ ? "\033[K" : "")
          << (ended || !terminal_ ? "\n" : "") << std::flush;
}

std::string ProgressBar::line(const RunContext &c, bool ended) const {
    const std::string head = "epoch " + std::to_string(c.epoch) + "/" + std::to_string(c.epochs);
    const auto now = Clock::now();
    const double ms = milliseconds(now - epoch_begin_ - evaluating_);
    std::string tail = " " + std::to_string(c.step) + "/" + std::to_string(c.steps_per_epoch);
    tail += format("  loss %.4f  %.2f ms/step", count_ ? sum_ / double(count_) : 0,
                   ms / double(std::max<int64_t>(c.step - epoch_first_, 1)));
    if (samples_ && ms > 0)
        tail += format("  %.0f ", 1e3 * double(samples_) / ms) + c.unit() + "/s";
    if (c.queue_capacity && count_)
        tail += format("  queue %.1f/%.0f", queue_sum_ / double(count_), double(c.queue_capacity));
    if (ended) {
        for (auto &[name, result] : c.eval_results) {
            if (name != "loss" || !c.eval_results.contains("eval_loss"))
                tail += "  " + name + format(" %.4f", result);
        }
    }
    const int64_t done = c.global_step - first_step_;
    const int64_t left = c.epochs * c.steps_per_epoch - c.global_step;
    if (done > 0 && left > 0) {
        tail += "  ETA " +
                duration(milliseconds(now - train_begin_) / 1e3 / double(done) * double(left));
    }
    if (!terminal_) return head + tail;
    // The last column stays empty, because some terminals wrap when it is written.
    const int64_t columns = columns_ ? columns_ : terminal_columns();
    const int64_t room = columns - 1 - int64_t(head.size() + tail.size());
    constexpr int64_t widest = 32, ends = 3, least = 4;
    if (c.steps_per_epoch > 0 && room >= least + ends)
        return head + bar(std::min(widest, room - ends), c.step, c.steps_per_epoch) + tail;
    return (head + tail).substr(0, size_t(std::max<int64_t>(columns - 1, 1)));
}

}  // namespace halyard
