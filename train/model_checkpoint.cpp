#include "train/model_checkpoint.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <tuple>

#include "registry/error.h"
#include "train/checkpoint.h"
#include "train/training_state.h"

namespace halyard {
namespace {

namespace fs = std::filesystem;

struct File {
    fs::path path;
    fs::file_time_type written;
    int64_t epoch, step;
    bool operator<(const File &o) const { return std::tie(written, epoch, step) < std::tie(o.written, o.epoch, o.step); }
};

std::string name_of(const std::string &prefix, int64_t epoch, int64_t step, const std::string &format) {
    return prefix + "-" + std::to_string(epoch) + "_" + std::to_string(step) + "." + format;
}

// Of this prefix, from the oldest on. `unfinished` are those that a process left behind which ended while it wrote (atomic_file.h).
std::vector<File> files_of(const std::string &directory, const std::string &prefix, bool unfinished = false) {
    std::vector<File> files;
    std::error_code gone;
    for (const fs::directory_entry &e : fs::directory_iterator(directory, gone)) {
        std::string name = e.path().filename();
        if (unfinished) {
            if (name.size() < 8 || name[name.size() - 7] != '.') continue;
            name.resize(name.size() - 7);
        }
        long long epoch = 0, step = 0;
        if (!name.starts_with(prefix) || std::sscanf(name.c_str() + prefix.size(), "-%18lld_%18lld", &epoch, &step) != 2) continue;
        if (name != name_of(prefix, epoch, step, "ckpt") && name != name_of(prefix, epoch, step, "safetensors")) continue;
        files.push_back({e.path(), e.last_write_time(gone), epoch, step});
    }
    std::sort(files.begin(), files.end());
    return files;
}

}  // namespace

ModelCheckpoint::ModelCheckpoint(std::string prefix, std::string directory, CheckpointConfig config)
    : prefix_(std::move(prefix)), directory_(std::move(directory)), config_(std::move(config)) {
    const auto not_negative = [](const char *name, int64_t v) {
        if (v < 0) throw AttrError("ModelCheckpoint", std::string(name) + " is " + std::to_string(v) + ", expected at least 0");
    };
    not_negative("save_checkpoint_steps", config_.save_checkpoint_steps), not_negative("save_checkpoint_seconds", config_.save_checkpoint_seconds);
    not_negative("keep_checkpoint_max", config_.keep_checkpoint_max);
    if (prefix_.find('/') != std::string::npos) throw AttrError("ModelCheckpoint", "prefix is " + prefix_ + ", expected one without '/'");
    if (config_.format != "ckpt" && config_.format != "safetensors")
        throw AttrError("ModelCheckpoint", "format is " + config_.format + ", expected ckpt or safetensors");
}

void ModelCheckpoint::on_train_begin(RunContext &c) {
    std::error_code failed;
    fs::create_directories(directory_, failed);
    if (failed) throw IoError(directory_, "can't be made: " + failed.message());
    for (const File &f : files_of(directory_, prefix_, true)) fs::remove(f.path, failed);
    saved_step_ = c.global_step, saved_time_ = std::chrono::steady_clock::now();
}

bool ModelCheckpoint::due(const RunContext &c) const {
    if (config_.save_checkpoint_steps > 0) return c.global_step >= saved_step_ + config_.save_checkpoint_steps;
    return config_.save_checkpoint_seconds > 0 && std::chrono::steady_clock::now() - saved_time_ >= std::chrono::seconds(config_.save_checkpoint_seconds);
}

void ModelCheckpoint::on_train_step_end(RunContext &c) {
    if (c.step < c.steps_per_epoch && due(c)) save(c);
}
void ModelCheckpoint::on_train_epoch_end(RunContext &c) {
    if (due(c)) save(c);
}
void ModelCheckpoint::on_train_end(RunContext &c) {
    if (c.global_step > saved_step_) save(c);
}

void ModelCheckpoint::save(const RunContext &c) {
    latest_ = fs::path(directory_) / name_of(prefix_, c.epoch, c.step, config_.format);
    if (config_.saved_network) save_checkpoint(config_.saved_network, latest_);
    else if (c.optimizer) save_training_state(latest_, c.train_network, *c.optimizer, c.position);
    saved_step_ = c.global_step, saved_time_ = std::chrono::steady_clock::now();
    std::vector<File> files = files_of(directory_, prefix_);
    const size_t most = (size_t)std::max<int64_t>(config_.keep_checkpoint_max, 1);
    std::error_code gone;
    for (size_t k = 0; k + most < files.size(); k++) fs::remove(files[k].path, gone);
}

std::optional<std::string> latest_checkpoint(const std::string &directory, const std::string &prefix) {
    const std::vector<File> files = files_of(directory, prefix);
    if (files.empty()) return {};
    return files.back().path.string();
}

}  // namespace halyard
