// Callbacks that act when a quantity stops improving. Names and defaults are MindSpore's. They keep
// their counts in the RunContext, so that a resumed training continues them; a training that
// EarlyStopping ended stays ended.
//
// The quantity is "loss", the loss of the epoch's last step, or a result of fit()'s evaluation:
// "eval_loss" or a metric. `mode` is "min", "max" or "auto", which minimises loss, eval_loss, mae
// and mse and maximises anything else. All throw AttrError for another mode, for a training without
// evaluation, and if an evaluation lacks the quantity.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "train/callbacks/callback.h"

namespace halyard {

class Monitor : public Callback {
public:
    void on_train_begin(RunContext &c) override;
    // Does nothing after epochs without an evaluation.
    void on_train_epoch_end(RunContext &c) override;
    double best() const { return best_; }

protected:
    Monitor(const char *callback, std::string monitor, const std::string &mode, double min_delta);
    virtual void observe(RunContext &c, double value) = 0;
    double noted(const RunContext &c, const char *name, double otherwise = 0) const;
    void note(RunContext &c, const char *name, double value) const {
        c.position.notes[key(name)] = value;
    }
    bool improves(double value, double than) const {
        return less_ ? value < than - min_delta_ : value > than + min_delta_;
    }
    void set_best(RunContext &c, double value);

private:
    std::string key(const char *name) const { return callback_ + ("." + monitor_ + "." + name); }
    const char *callback_;
    std::string monitor_;
    bool less_;
    double min_delta_, best_ = 0;
};

struct EarlyStoppingOptions {
    std::string monitor = "eval_loss";
    double min_delta = 0;  // smaller changes are no improvement
    int64_t patience = 0;  // epochs without improvement after which training stops; 0: the first
    bool verbose = false;  // prints on standard output when it stops
    std::string mode = "auto";
    std::optional<double> baseline = {};  // an improvement must also be better than this
    // Restores the parameters of the best epoch when it stops. A resumed training lacks those of
    // epochs before the resumption.
    bool restore_best_weights = false;
};

class EarlyStopping : public Monitor {
public:
    explicit EarlyStopping(EarlyStoppingOptions options = {});
    void on_train_begin(RunContext &c) override;
    void on_train_end(RunContext &c) override;
    // Returns the epoch after which training stopped, or 0.
    int64_t stopped_epoch() const { return stopped_; }

private:
    void observe(RunContext &c, double value) override;
    bool exhausted() const { return wait_ > 0 && wait_ >= double(o_.patience); }
    void keep(const RunContext &c);
    EarlyStoppingOptions o_;
    double wait_ = 0;  // epochs without an improvement
    int64_t stopped_ = 0;
    std::vector<std::pair<Parameter, Tensor>> weights_;  // of the best epoch
};

struct ReduceLROnPlateauOptions {
    std::string monitor = "eval_loss";
    double factor = 0.1;    // new rate / old rate
    int64_t patience = 10;  // epochs without improvement
    bool verbose = false;
    std::string mode = "auto";
    double min_delta = 1e-4;
    int64_t cooldown = 0;  // epochs after a reduction that are not counted
    double min_lr = 0;
};

// Reduces a constant learning rate (Optimizer::set_learning_rate).
class ReduceLROnPlateau : public Monitor {
public:
    explicit ReduceLROnPlateau(ReduceLROnPlateauOptions options = {});
    void on_train_begin(RunContext &c) override;

private:
    void observe(RunContext &c, double value) override;
    void reduce(const RunContext &c) const;
    ReduceLROnPlateauOptions o_;
    double wait_ = 0, cooling_ = 0;  // in epochs
};

struct BestCheckpointOptions {
    std::string monitor = "eval_loss", mode = "auto";
    double min_delta = 0;
};

// Writes the network's parameters to `path` whenever the quantity reaches a new best, with
// "epoch_num" and the quantity as metadata.
class BestCheckpoint : public Monitor {
public:
    explicit BestCheckpoint(std::string path, BestCheckpointOptions options = {});

private:
    void observe(RunContext &c, double value) override;
    std::string path_, name_;
};

}  // namespace halyard
