#include "train/callbacks/plateau.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iostream>
#include <limits>

#include "registry/base/error.h"
#include "train/checkpoint/checkpoint.h"

namespace halyard {
namespace {

bool wants_less(const char *callback, const std::string &monitor, const std::string &mode) {
    static constexpr std::array smaller_better = {"loss", "eval_loss", "mae", "mse"};
    if (mode == "auto") {
        return std::find(smaller_better.begin(), smaller_better.end(), monitor) !=
               smaller_better.end();
    }
    if (mode != "min" && mode != "max")
        throw AttrError(callback, "mode is " + mode + ", expected auto, min or max");
    return mode == "min";
}

void not_negative(const char *callback, const char *name, double v) {
    if (!(v >= 0)) {
        throw AttrError(callback,
                        std::string(name) + " is " + std::to_string(v) + ", expected at least 0");
    }
}

}  // namespace

Monitor::Monitor(const char *callback, std::string monitor, const std::string &mode,
                 double min_delta)
    : callback_(callback), monitor_(std::move(monitor)),
      less_(wants_less(callback, monitor_, mode)), min_delta_(std::abs(min_delta)) {}

void Monitor::on_train_begin(RunContext &c) {
    if (monitor_ != "loss" && !c.valid_frequency) {
        throw AttrError(callback_,
                        "monitor is " + monitor_ + ", but train() evaluates nothing; fit() does");
    }
    set_best(c, noted(c, "best",
                      less_ ? std::numeric_limits<double>::infinity()
                            : -std::numeric_limits<double>::infinity()));
}

double Monitor::noted(const RunContext &c, const char *name, double otherwise) const {
    const auto found = c.position.notes.find(key(name));
    return found == c.position.notes.end() ? otherwise : found->second;
}

void Monitor::set_best(RunContext &c, double value) {
    best_ = value;
    note(c, "best", value);
}

void Monitor::on_train_epoch_end(RunContext &c) {
    if (monitor_ == "loss") return observe(c, c.loss());
    if (c.eval_results.empty()) return;
    const auto found = c.eval_results.find(monitor_);
    if (found != c.eval_results.end()) return observe(c, found->second);
    std::string known = "loss";
    for (auto &[name, value] : c.eval_results)
        known += ", " + name;
    throw AttrError(callback_, "monitor is " + monitor_ + ", expected one of " + known);
}

EarlyStopping::EarlyStopping(EarlyStoppingOptions options)
    : Monitor("EarlyStopping", options.monitor, options.mode, options.min_delta),
      o_(std::move(options)) {
    not_negative("EarlyStopping", "patience", double(o_.patience));
}

void EarlyStopping::on_train_begin(RunContext &c) {
    Monitor::on_train_begin(c);
    wait_ = noted(c, "wait");
    stopped_ = 0;
    weights_.clear();
    if (exhausted()) c.request_stop();
}

void EarlyStopping::keep(const RunContext &c) {
    weights_.clear();
    for (const Parameter &p : c.train_network.get_parameters())
        weights_.emplace_back(p, p.data().copy());
}

void EarlyStopping::observe(RunContext &c, double value) {
    // The initial parameters are the best until an epoch improves on them.
    if (o_.restore_best_weights && std::isinf(best())) keep(c);
    wait_++;
    if (improves(value, best())) {
        set_best(c, value);
        if (o_.restore_best_weights) keep(c);
        if (!o_.baseline || improves(value, *o_.baseline)) wait_ = 0;
    }
    note(c, "wait", wait_);
    if (!exhausted()) return;
    stopped_ = c.epoch;
    c.request_stop();
    for (auto &[parameter, weights] : weights_)
        parameter.set_data(weights);
}

void EarlyStopping::on_train_end(RunContext &) {
    if (stopped_ && o_.verbose)
        std::cout << "Epoch " << stopped_ << ": early stopping" << std::endl;
}

ReduceLROnPlateau::ReduceLROnPlateau(ReduceLROnPlateauOptions options)
    : Monitor("ReduceLROnPlateau", options.monitor, options.mode, options.min_delta),
      o_(std::move(options)) {
    not_negative("ReduceLROnPlateau", "patience", double(o_.patience));
    not_negative("ReduceLROnPlateau", "cooldown", double(o_.cooldown));
    not_negative("ReduceLROnPlateau", "min_lr", o_.min_lr);
    if (!(o_.factor > 0 && o_.factor < 1)) {
        throw AttrError("ReduceLROnPlateau",
                        "factor is " + std::to_string(o_.factor) + ", expected 0 < factor < 1");
    }
}

void ReduceLROnPlateau::on_train_begin(RunContext &c) {
    Monitor::on_train_begin(c);
    wait_ = noted(c, "wait");
    cooling_ = noted(c, "cooldown");
}

void ReduceLROnPlateau::observe(RunContext &c, double value) {
    if (cooling_ > 0) {
        cooling_--;
        wait_ = 0;
    }
    if (improves(value, best())) {
        set_best(c, value);
        wait_ = 0;
    } else if (cooling_ <= 0 && ++wait_ >= double(o_.patience)) {
        reduce(c);
        cooling_ = double(o_.cooldown);
        wait_ = 0;
    }
    note(c, "wait", wait_);
    note(c, "cooldown", cooling_);
}

void ReduceLROnPlateau::reduce(const RunContext &c) const {
    if (!c.optimizer) throw AttrError("ReduceLROnPlateau", "the training has no optimiser");
    const double now = c.optimizer->learning_rate();
    const double next = std::max(now * o_.factor, o_.min_lr);
    if (next >= now) return;
    c.optimizer->set_learning_rate(next);
    if (o_.verbose) {
        std::cout << "Epoch " << c.epoch << ": ReduceLROnPlateau reducing learning rate to " << next
                  << std::endl;
    }
}

BestCheckpoint::BestCheckpoint(std::string path, BestCheckpointOptions options)
    : Monitor("BestCheckpoint", options.monitor, options.mode, options.min_delta),
      path_(std::move(path)), name_(std::move(options.monitor)) {}

void BestCheckpoint::observe(RunContext &c, double value) {
    if (!improves(value, best())) return;
    set_best(c, value);
    save_checkpoint(c.network, path_,
                    {{"epoch_num", std::to_string(c.epoch)}, {name_, std::to_string(value)}});
}

}  // namespace halyard
