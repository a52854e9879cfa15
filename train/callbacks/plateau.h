// Callbacks that watch a quantity from epoch to epoch and act on whether it still improves. Names
// and defaults are MindSpore's. What they count they note in the context, so that a resumed
// training counts on; a training that EarlyStopping ended stays ended.
//
// The quantity is "loss", the loss of the epoch's last step, or what fit() evaluates: "eval_loss"
// or a metric. mode says which way is up: "min", "max", or "auto", where loss, eval_loss, mae and
// mse want to be small. All throw AttrError for other modes, and when a training begins that
// doesn't evaluate, or an evaluation gives no such quantity.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "train/callbacks/callback.h"

namespace halyard {

class Monitor : public Callback {
public:
    void on_train_begin(RunContext &c) override;
    void on_train_epoch_end(RunContext &c) override;  // nothing after epochs without an evaluation
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
    double min_delta = 0;  // what counts as an improvement
    int64_t patience = 0;  // it stops at that many epochs in a row without one, 0 at the first
    bool verbose = false;  // says so on standard output
    std::string mode = "auto";
    std::optional<double> baseline = {};  // the quantity must get past it, too
    // those of the best epoch, when it stops; a resumed training doesn't have those
    bool restore_best_weights = false;
};

class EarlyStopping : public Monitor {
public:
    explicit EarlyStopping(EarlyStoppingOptions options = {});
    void on_train_begin(RunContext &c) override;
    void on_train_end(RunContext &c) override;
    int64_t stopped_epoch() const { return stopped_; }  // 0: it didn't

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
    double factor = 0.1;    // of the new rate to the old one
    int64_t patience = 10;  // epochs without an improvement
    bool verbose = false;
    std::string mode = "auto";
    double min_delta = 1e-4;
    int64_t cooldown = 0;  // epochs after a reduction that don't count
    double min_lr = 0;
};

// For a learning rate that is a number (Optimizer::set_learning_rate).
class ReduceLROnPlateau : public Monitor {
public:
    explicit ReduceLROnPlateau(ReduceLROnPlateauOptions options = {});
    void on_train_begin(RunContext &c) override;

private:
    void observe(RunContext &c, double value) override;
    void reduce(const RunContext &c) const;
    ReduceLROnPlateauOptions o_;
    double wait_ = 0, cooling_ = 0;  // epochs
};

struct BestCheckpointOptions {
    std::string monitor = "eval_loss", mode = "auto";
    double min_delta = 0;
};

// Writes the network's parameters to `path` whenever the quantity is better than ever, with
// "epoch_num" and the quantity as metadata.
class BestCheckpoint : public Monitor {
public:
    explicit BestCheckpoint(std::string path, BestCheckpointOptions options = {});

private:
    void observe(RunContext &c, double value) override;
    std::string path_, name_;
};

}  // namespace halyard
