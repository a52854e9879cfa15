#include "train/checkpoint/model_checkpoint.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <tuple>

#include "registry/base/error.h"
#include "registry/base/log.h"
#include "train/checkpoint/checkpoint.h"
#include "train/checkpoint/training_state.h"

namespace halyard {
namespace {

namespace fs = std::filesystem;

// The number of the training that wrote a file. A training that does not continue from the folder's
// last file gets the next number. File times are no substitute, because copies have new ones.
constexpr const char *generation_note = "ModelCheckpoint.generation";

struct File {
    fs::path path;
    int64_t generation, epoch, step;
    // Orders files of older versions, which have no generation.
    fs::file_time_type written;
    std::string damage = {};  // the error of reading it; "" if none is known
    auto place() const { return std::tie(generation, epoch, step, written); }
    bool operator<(const File &o) const { return place() < o.place(); }
};

std::string name_of(const std::string &prefix, int64_t epoch, int64_t step,
                    const std::string &format) {
    return prefix + "-" + std::to_string(epoch) + "_" + std::to_string(step) + "." + format;
}

// Returns 0 if the file has no such entry.
int64_t generation_of(const std::string &path) {
    return int64_t(saved_note(path, load_metadata(path), generation_note).value_or(0));
}

// Returns the files of this prefix in any order. `unfinished` gets the files of processes that
// ended while writing (registry/base/atomic_file.h).
std::vector<File> files_of(const std::string &directory, const std::string &prefix,
                           bool unfinished = false) {
    std::vector<File> files;
    std::error_code gone;
    for (fs::directory_iterator e(directory, gone), end; !gone && e != end; e.increment(gone)) {
        std::string name = e->path().filename();
        if (unfinished) {
            if (name.size() < 8 || name[name.size() - 7] != '.') continue;
            name.resize(name.size() - 7);
        }
        long long epoch = 0, step = 0;
        if (!name.starts_with(prefix) ||
            std::sscanf(name.c_str() + prefix.size(), "-%18lld_%18lld", &epoch, &step) != 2)
            continue;
        if (name != name_of(prefix, epoch, step, "ckpt") &&
            name != name_of(prefix, epoch, step, "safetensors"))
            continue;
        std::error_code unknown;
        files.push_back({e->path(), 0, epoch, step, e->last_write_time(unknown)});
    }
    return files;
}

// Sorts from old to new; damaged files come first.
std::vector<File> finished_files(const std::string &directory, const std::string &prefix) {
    std::vector<File> files = files_of(directory, prefix);
    for (File &f : files) {
        try {
            f.generation = generation_of(f.path.string());
        } catch (const Error &e) {
            f.generation = -1;
            f.damage = e.what();
        }
    }
    std::sort(files.begin(), files.end());
    return files;
}

// Returns true if the folder's last file is not beyond the position where the training begins,
// which means that the training continues from it.
int64_t generation_at(const TrainingPosition &position, int64_t steps_per_epoch,
                      const std::vector<File> &files) {
    if (files.empty()) return 1;
    const File &last = files.back();
    const bool goes_on = (last.epoch - 1) * steps_per_epoch + last.step <=
                         position.epochs * steps_per_epoch + position.steps;
    return std::max<int64_t>(1, last.generation + !goes_on);
}

}  // namespace

ModelCheckpoint::ModelCheckpoint(std::string prefix, std::string directory, CheckpointConfig config)
    : prefix_(std::move(prefix)), directory_(std::move(directory)), config_(std::move(config)) {
    const auto not_negative = [](const char *name, int64_t v) {
        if (v < 0) {
            throw AttrError("ModelCheckpoint", std::string(name) + " is " + std::to_string(v) +
                                                   ", expected at least 0");
        }
    };
    not_negative("save_checkpoint_steps", config_.save_checkpoint_steps);
    not_negative("save_checkpoint_seconds", config_.save_checkpoint_seconds);
    not_negative("keep_checkpoint_max", config_.keep_checkpoint_max);
    if (prefix_.find('/') != std::string::npos)
        throw AttrError("ModelCheckpoint", "prefix is " + prefix_ + ", expected one without '/'");
    if (config_.format != "ckpt" && config_.format != "safetensors") {
        throw AttrError("ModelCheckpoint",
                        "format is " + config_.format + ", expected ckpt or safetensors");
    }
}

void ModelCheckpoint::on_train_begin(RunContext &c) {
    std::error_code failed;
    fs::create_directories(directory_, failed);
    if (failed) throw IoError(directory_, "can't be made: " + failed.message());
    for (const File &f : files_of(directory_, prefix_, true))
        fs::remove(f.path, failed);
    const int64_t generation = generation_at(c.position, c.steps_per_epoch,
                                             finished_files(directory_, prefix_));
    c.position.notes[generation_note] = double(generation);
    saved_step_ = c.global_step;
    saved_time_ = std::chrono::steady_clock::now();
}

bool ModelCheckpoint::due(const RunContext &c) const {
    if (config_.save_checkpoint_steps > 0)
        return c.global_step >= saved_step_ + config_.save_checkpoint_steps;
    return config_.save_checkpoint_seconds > 0 &&
           std::chrono::steady_clock::now() - saved_time_ >=
               std::chrono::seconds(config_.save_checkpoint_seconds);
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
    const auto generation = std::to_string(int64_t(c.position.notes.at(generation_note)));
    if (config_.saved_network)
        save_checkpoint(config_.saved_network, latest_, {{note_key(generation_note), generation}});
    else if (c.optimizer)
        save_training_state(latest_, c.train_network, *c.optimizer, c.position);
    saved_step_ = c.global_step;
    saved_time_ = std::chrono::steady_clock::now();
    const std::vector<File> files = finished_files(directory_, prefix_);
    const size_t most = size_t(std::max<int64_t>(config_.keep_checkpoint_max, 1));
    std::error_code gone;
    for (size_t k = 0; k + most < files.size(); k++)
        fs::remove(files[k].path, gone);
}

std::optional<std::string> latest_checkpoint(const std::string &directory,
                                             const std::string &prefix) {
    std::vector<File> files = finished_files(directory, prefix);
    const size_t found = files.size();
    const auto pass_over = [](const std::string &why) {
        log(LogLevel::warning, "checkpoint", why + "; it is passed over");
    };
    for (const File &f : files)
        if (!f.damage.empty()) pass_over(f.damage);
    for (; !files.empty() && files.back().damage.empty(); files.pop_back()) {
        const std::string path = files.back().path.string();
        try {
            load_checkpoint(path);
            return path;
        } catch (const Error &e) {
            pass_over(e.what());
        }
    }
    if (found > 0) {
        throw IoError(directory, "has " + std::to_string(found) + " checkpoints of " + prefix +
                                     ", and none that is whole");
    }
    return {};
}

}  // namespace halyard
