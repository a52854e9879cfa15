#include "nn/learning_rate.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "registry/base/error.h"

namespace halyard::nn {
namespace {

void positive(const char *schedule, const char *name, double value) {
    if (!(value > 0) || !std::isfinite(value)) {
        throw AttrError(schedule, std::string(name) + " is " + std::to_string(value) +
                                      ", expected more than 0");
    }
}
void not_negative(const char *schedule, const char *name, double value) {
    if (!(value >= 0) || !std::isfinite(value)) {
        throw AttrError(schedule, std::string(name) + " is " + std::to_string(value) +
                                      ", expected at least 0");
    }
}
void count(const char *schedule, const char *name, int64_t value) {
    if (value < 1) {
        throw AttrError(schedule, std::string(name) + " is " + std::to_string(value) +
                                      ", expected at least 1");
    }
}

// Builds a list by evaluating the schedule once per epoch.
template<class Schedule> std::vector<double> of_epochs(const char *name, int64_t total_step,
                                                       int64_t step_per_epoch,
                                                       const Schedule &schedule) {
    count(name, "total_step", total_step);
    count(name, "step_per_epoch", step_per_epoch);
    std::vector<double> list;
    for (int64_t step = 0; step < total_step; step++)
        list.push_back(schedule(step / step_per_epoch));
    return list;
}

double in_stairs(int64_t step, int64_t steps, bool stair) {
    return stair ? double(step / steps) : double(step) / double(steps);
}

}  // namespace

LearningRate::LearningRate(std::vector<double> per_step) : list_(std::move(per_step)) {
    if (list_.empty()) throw AttrError("optimizer", "the list of learning rates is empty");
}

double LearningRate::at(int64_t step) const {
    const double lr = schedule_ ? schedule_(step)
                                : list_[size_t(std::min<int64_t>(step, int64_t(list_.size()) - 1))];
    if (!(lr >= 0) || !std::isfinite(lr)) {
        throw AttrError("optimizer", "learning rate of step " + std::to_string(step) + " is " +
                                         std::to_string(lr) + ", expected at least 0");
    }
    return lr;
}

CosineDecayLR::CosineDecayLR(double min_lr, double max_lr, int64_t decay_steps)
    : min_(min_lr), max_(max_lr), steps_(decay_steps) {
    not_negative("cosine_decay_lr", "min_lr", min_);
    positive("cosine_decay_lr", "max_lr", max_);
    count("cosine_decay_lr", "the decay's length", steps_);
    if (min_ >= max_) {
        throw AttrError("cosine_decay_lr", "min_lr is " + std::to_string(min_) + ", max_lr " +
                                               std::to_string(max_) + ", expected less");
    }
}
double CosineDecayLR::operator()(int64_t step) const {
    return min_ +
           0.5 * (max_ - min_) *
               (1 + std::cos(std::numbers::pi * double(std::min(step, steps_)) / double(steps_)));
}

RateDecay::RateDecay(const char *name, double learning_rate, double decay_rate, int64_t decay_steps,
                     bool is_stair)
    : rate_(learning_rate), decay_(decay_rate), steps_(decay_steps), stair_(is_stair) {
    positive(name, "learning_rate", rate_);
    positive(name, "decay_rate", decay_);
    count(name, "the decay's length", steps_);
}

ExponentialDecayLR::ExponentialDecayLR(double learning_rate, double decay_rate, int64_t decay_steps,
                                       bool is_stair)
    : RateDecay("exponential_decay_lr", learning_rate, decay_rate, decay_steps, is_stair) {}
double ExponentialDecayLR::operator()(int64_t step) const {
    return rate_ * std::pow(decay_, in_stairs(step, steps_, stair_));
}

NaturalExpDecayLR::NaturalExpDecayLR(double learning_rate, double decay_rate, int64_t decay_steps,
                                     bool is_stair)
    : RateDecay("natural_exp_decay_lr", learning_rate, decay_rate, decay_steps, is_stair) {}
double NaturalExpDecayLR::operator()(int64_t step) const {
    return rate_ * std::exp(-decay_ * double(stair_ ? step / steps_ * steps_ : step));
}

InverseDecayLR::InverseDecayLR(double learning_rate, double decay_rate, int64_t decay_steps,
                               bool is_stair)
    : RateDecay("inverse_decay_lr", learning_rate, decay_rate, decay_steps, is_stair) {}
double InverseDecayLR::operator()(int64_t step) const {
    return rate_ / (1 + decay_ * in_stairs(step, steps_, stair_));
}

PolynomialDecayLR::PolynomialDecayLR(double learning_rate, double end_learning_rate,
                                     int64_t decay_steps, double power, bool update_decay_steps)
    : rate_(learning_rate), end_(end_learning_rate), steps_(decay_steps), power_(power),
      update_(update_decay_steps) {
    positive("polynomial_decay_lr", "learning_rate", rate_);
    not_negative("polynomial_decay_lr", "end_learning_rate", end_);
    positive("polynomial_decay_lr", "power", power_);
    count("polynomial_decay_lr", "the decay's length", steps_);
}
double PolynomialDecayLR::operator()(int64_t step) const {
    const int64_t length = update_ ? steps_ * std::max<int64_t>(1, (step + steps_ - 1) / steps_)
                                   : steps_;
    return (rate_ - end_) * std::pow(1 - double(std::min(step, length)) / double(length), power_) +
           end_;
}

WarmUpLR::WarmUpLR(double learning_rate, int64_t warmup_steps)
    : rate_(learning_rate), steps_(warmup_steps) {
    not_negative("warmup_lr", "learning_rate", rate_);
    count("warmup_lr", "the warm-up's length", steps_);
}
double WarmUpLR::operator()(int64_t step) const {
    return rate_ * double(std::min(step, steps_)) / double(steps_);
}

std::vector<double> piecewise_constant_lr(const std::vector<int64_t> &milestone,
                                          const std::vector<double> &learning_rates) {
    const std::string name = "piecewise_constant_lr";
    if (milestone.size() != learning_rates.size()) {
        throw AttrError(name, std::to_string(milestone.size()) + " milestones and " +
                                  std::to_string(learning_rates.size()) +
                                  " learning rates, expected as many");
    }
    std::vector<double> list;
    for (size_t k = 0; k < milestone.size(); k++) {
        if (milestone[k] < std::max<int64_t>(1, int64_t(list.size()))) {
            throw AttrError(name, "milestone[" + std::to_string(k) + "] is " +
                                      std::to_string(milestone[k]) + ", expected at least " +
                                      std::to_string(std::max<size_t>(1, list.size())));
        }
        list.resize(size_t(milestone[k]), learning_rates[k]);
    }
    return list;
}

std::vector<double> exponential_decay_lr(double learning_rate, double decay_rate,
                                         int64_t total_step, int64_t step_per_epoch,
                                         int64_t decay_epoch, bool is_stair) {
    return of_epochs("exponential_decay_lr", total_step, step_per_epoch,
                     ExponentialDecayLR(learning_rate, decay_rate, decay_epoch, is_stair));
}
std::vector<double> natural_exp_decay_lr(double learning_rate, double decay_rate,
                                         int64_t total_step, int64_t step_per_epoch,
                                         int64_t decay_epoch, bool is_stair) {
    return of_epochs("natural_exp_decay_lr", total_step, step_per_epoch,
                     NaturalExpDecayLR(learning_rate, decay_rate, decay_epoch, is_stair));
}
std::vector<double> inverse_decay_lr(double learning_rate, double decay_rate, int64_t total_step,
                                     int64_t step_per_epoch, int64_t decay_epoch, bool is_stair) {
    return of_epochs("inverse_decay_lr", total_step, step_per_epoch,
                     InverseDecayLR(learning_rate, decay_rate, decay_epoch, is_stair));
}
std::vector<double> cosine_decay_lr(double min_lr, double max_lr, int64_t total_step,
                                    int64_t step_per_epoch, int64_t decay_epoch) {
    return of_epochs("cosine_decay_lr", total_step, step_per_epoch,
                     CosineDecayLR(min_lr, max_lr, decay_epoch));
}
std::vector<double> polynomial_decay_lr(double learning_rate, double end_learning_rate,
                                        int64_t total_step, int64_t step_per_epoch,
                                        int64_t decay_epoch, double power,
                                        bool update_decay_epoch) {
    return of_epochs("polynomial_decay_lr", total_step, step_per_epoch,
                     PolynomialDecayLR(learning_rate, end_learning_rate, decay_epoch, power,
                                       update_decay_epoch));
}
std::vector<double> warmup_lr(double learning_rate, int64_t total_step, int64_t step_per_epoch,
                              int64_t warmup_epoch) {
    return of_epochs("warmup_lr", total_step, step_per_epoch,
                     WarmUpLR(learning_rate, warmup_epoch));
}

}  // namespace halyard::nn
