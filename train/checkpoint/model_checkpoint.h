// ModelCheckpoint: keeps the state of a training in files while it runs. Names and defaults are
// MindSpore's.
//
//   TrainOptions from;
//   if (const auto last = latest_checkpoint("out", "lenet")) from = model.resume(*last);
//   model.train(10, data, {ModelCheckpoint("lenet", "out", {.save_checkpoint_steps = 100})}, from);
#pragma once
#include <chrono>
#include <optional>
#include <string>

#include "train/callbacks/callback.h"

namespace halyard {

struct CheckpointConfig {
    int64_t save_checkpoint_steps = 1;  // from file to file, counted over all epochs
    // the same by the clock; means something where save_checkpoint_steps is 0
    int64_t save_checkpoint_seconds = 0;
    // files of this prefix in the directory, the oldest go; 0 means 1
    int64_t keep_checkpoint_max = 5;
    bool integrated_save = true;  // changes nothing: no parameter is split over devices
    // these parameters alone, with which nothing can be resumed
    nn::AnyCell saved_network = {};
    std::string format = "ckpt";  // or "safetensors"
};

// Writes <directory>/<prefix>-<epoch>_<step>.<format>, epoch and step of it from 1, and one more at
// the end of the training. What is kept is what training_state.h says, as it was after the other
// callbacks had heard of the same step; of an epoch's last step, after they had heard of the
// epoch's end. A file is there before an older one goes. Throws AttrError for a prefix with a '/'
// or options out of range, IoError.
class ModelCheckpoint : public Callback {
public:
    explicit ModelCheckpoint(std::string prefix = "CKP", std::string directory = ".",
                             CheckpointConfig config = {});
    void on_train_begin(RunContext &c) override;
    void on_train_step_end(RunContext &c) override;
    void on_train_epoch_end(RunContext &c) override;
    void on_train_end(RunContext &c) override;
    bool after_others() const override { return true; }
    // empty before the first
    const std::string &latest_ckpt_file_name() const { return latest_; }

private:
    bool due(const RunContext &c) const;
    void save(const RunContext &c);
    std::string prefix_, directory_, latest_;
    CheckpointConfig config_;
    int64_t saved_step_ = 0;
    std::chrono::steady_clock::time_point saved_time_;
};

// The last file of this prefix, of either format: by training, epoch and step, as the files say
// them, whatever their dates are. One that is damaged is passed over, with a warning. Throws
// IoError where all are.
std::optional<std::string> latest_checkpoint(const std::string &directory,
                                             const std::string &prefix = "CKP");

}  // namespace halyard
