// Learning rates: constants, lists and schedules. Names, orders of arguments and values are
// MindSpore's.
#pragma once
#include <concepts>
#include <cstdint>
#include <functional>
#include <vector>

namespace halyard::nn {

// A learning rate is a constant, a list of one number per step whose last number stays, or a
// function of the step. Steps count from 0.
class LearningRate {
public:
    LearningRate(double constant) : list_{constant}, number_(true) {}
    LearningRate(int constant) : LearningRate(double(constant)) {}
    LearningRate(std::vector<double> per_step);  // throws AttrError if it is empty
    template<std::invocable<int64_t> Schedule> LearningRate(Schedule schedule)
        : schedule_(std::move(schedule)) {}
    // Returns the rate of a step. Throws AttrError unless it is finite and not negative.
    double at(int64_t step) const;
    bool is_number() const { return number_; }

private:
    std::vector<double> list_;
    bool number_ = false;
    std::function<double(int64_t)> schedule_;
};

// The following functions return lists of total_step rates. In their formulas e is the epoch of a
// step: step / step_per_epoch, rounded down. They throw AttrError with the argument's name for
// counts and rates that are too small or not finite.

// Returns learning_rates[k] for the steps before milestone[k].
std::vector<double> piecewise_constant_lr(const std::vector<int64_t> &milestone,
                                          const std::vector<double> &learning_rates);

// rate = learning_rate * decay_rate^(e / decay_epoch). With is_stair the exponent is rounded down.
std::vector<double> exponential_decay_lr(double learning_rate, double decay_rate,
                                         int64_t total_step, int64_t step_per_epoch,
                                         int64_t decay_epoch, bool is_stair = false);
// rate = learning_rate * exp(-decay_rate * e). With is_stair e is rounded down to a multiple of
// decay_epoch.
std::vector<double> natural_exp_decay_lr(double learning_rate, double decay_rate,
                                         int64_t total_step, int64_t step_per_epoch,
                                         int64_t decay_epoch, bool is_stair = false);
// rate = learning_rate / (1 + decay_rate * e / decay_epoch). With is_stair e / decay_epoch is
// rounded down.
std::vector<double> inverse_decay_lr(double learning_rate, double decay_rate, int64_t total_step,
                                     int64_t step_per_epoch, int64_t decay_epoch,
                                     bool is_stair = false);
// rate = min_lr + (max_lr - min_lr) / 2 * (1 + cos(pi * min(e, decay_epoch) / decay_epoch))
std::vector<double> cosine_decay_lr(double min_lr, double max_lr, int64_t total_step,
                                    int64_t step_per_epoch, int64_t decay_epoch);
// rate = end + (learning_rate - end) * (1 - min(e, d) / d)^power with d = decay_epoch. With
// update_decay_epoch d is the smallest multiple of decay_epoch that is not below e.
std::vector<double> polynomial_decay_lr(double learning_rate, double end_learning_rate,
                                        int64_t total_step, int64_t step_per_epoch,
                                        int64_t decay_epoch, double power,
                                        bool update_decay_epoch = false);
// rate = learning_rate * min(e, warmup_epoch) / warmup_epoch
std::vector<double> warmup_lr(double learning_rate, int64_t total_step, int64_t step_per_epoch,
                              int64_t warmup_epoch);

// The following schedules compute the same formulas from the step, with decay_steps in place of
// decay_epoch. Their constructors throw AttrError as the lists do.
class CosineDecayLR {
public:
    CosineDecayLR(double min_lr, double max_lr, int64_t decay_steps);
    double operator()(int64_t step) const;

private:
    double min_, max_;
    int64_t steps_;
};
class RateDecay {
protected:
    RateDecay(const char *name, double learning_rate, double decay_rate, int64_t decay_steps,
              bool is_stair);
    double rate_, decay_;
    int64_t steps_;
    bool stair_;
};
class ExponentialDecayLR : RateDecay {
public:
    ExponentialDecayLR(double learning_rate, double decay_rate, int64_t decay_steps,
                       bool is_stair = false);
    double operator()(int64_t step) const;
};
class NaturalExpDecayLR : RateDecay {
public:
    NaturalExpDecayLR(double learning_rate, double decay_rate, int64_t decay_steps,
                      bool is_stair = false);
    double operator()(int64_t step) const;
};
class InverseDecayLR : RateDecay {
public:
    InverseDecayLR(double learning_rate, double decay_rate, int64_t decay_steps,
                   bool is_stair = false);
    double operator()(int64_t step) const;
};
class PolynomialDecayLR {
public:
    PolynomialDecayLR(double learning_rate, double end_learning_rate, int64_t decay_steps,
                      double power, bool update_decay_steps = false);
    double operator()(int64_t step) const;

private:
    double rate_, end_;
    int64_t steps_;
    double power_;
    bool update_;
};
class WarmUpLR {
public:
    WarmUpLR(double learning_rate, int64_t warmup_steps);
    double operator()(int64_t step) const;

private:
    double rate_;
    int64_t steps_;
};

}  // namespace halyard::nn
