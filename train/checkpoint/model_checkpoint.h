// ModelCheckpoint: saves the state of a training to files while it runs. Names and defaults are
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
    int64_t save_checkpoint_steps = 1;  // steps between two files, counted over all epochs
    // Seconds between two files. Used if save_checkpoint_steps is 0.
    int64_t save_checkpoint_seconds = 0;
    // The number of files of this prefix in the directory; older ones are deleted. 0 means 1.
    int64_t keep_checkpoint_max = 5;
    bool integrated_save = true;  // has no effect: no parameter is split over devices
    // Saves the parameters of this cell only. No training can be resumed from such a file.
    nn::AnyCell saved_network = {};
    std::string format = "ckpt";  // or "safetensors"
};

// Writes <directory>/<prefix>-<epoch>_<step>.<format>, where the epoch and its step count from 1,
// and one more file at the end of the training. A file holds the state described in
// training_state.h, after the other callbacks of the same step; for the last step of an epoch,
// after their callbacks of the epoch's end. A new file is complete before an older one is deleted.
// Throws AttrError for a prefix with a '/' or options out of range, IoError.
class ModelCheckpoint : public Callback {
public:
    explicit ModelCheckpoint(std::string prefix = "CKP", std::string directory = ".",
                             CheckpointConfig config = {});
    void on_train_begin(RunContext &c) override;
    void on_train_step_end(RunContext &c) override;
    void on_train_epoch_end(RunContext &c) override;
    void on_train_end(RunContext &c) override;
    bool after_others() const override { return true; }
    // Returns the path of the last file, or "" before the first.
    const std::string &latest_ckpt_file_name() const { return latest_; }

private:
    bool due(const RunContext &c) const;
    void save(const RunContext &c);
    std::string prefix_, directory_, latest_;
    CheckpointConfig config_;
    int64_t saved_step_ = 0;
    std::chrono::steady_clock::time_point saved_time_;
};

// Returns the last file of this prefix in either format, ordered by training, epoch and step as the
// files record them, not by date. Damaged files are skipped with a warning. Throws IoError if all
// are damaged.
std::optional<std::string> latest_checkpoint(const std::string &directory,
                                             const std::string &prefix = "CKP");

}  // namespace halyard
