#include "train/checkpoint/training_state.h"

#include <charconv>
#include <cstdio>

#include "primitives/random.h"
#include "registry/base/error.h"
#include "train/checkpoint/checkpoint.h"

namespace halyard {
namespace {

ParameterTuple all_of(const nn::Cell &train_network, const nn::Optimizer &optimizer) {
    ParameterTuple all = train_network.get_parameters();
    const ParameterTuple state = optimizer.get_parameters();
    all.insert(all.end(), state.begin(), state.end());
    return all;
}

const std::string note = "note: ";  // the prefix of keys of notes

template<class T>
T number(const NamedTensors &file, const std::string &path, const std::string &key) {
    const auto at = file.metadata.find(key);
    if (at == file.metadata.end())
        throw AttrError("resume", path + " has no " + key + ": it isn't the state of a training");
    T value{};
    const char *end = at->second.data() + at->second.size();
    const auto [stop, error] = std::from_chars(at->second.data(), end, value);
    if (error != std::errc() || stop != end)
        throw IoError(path, key + " is '" + at->second + "', expected a number");
    return value;
}

int64_t count(const NamedTensors &file, const std::string &path, const std::string &key) {
    const auto n = number<int64_t>(file, path, key);
    if (n < 0) throw IoError(path, key + " is " + std::to_string(n) + ", expected at least 0");
    return n;
}

}  // namespace

void save_training_state(const std::string &path, const nn::Cell &train_network,
                         const nn::Optimizer &optimizer, const TrainingPosition &at) {
    const RngState rng = get_rng_state();
    std::map<std::string, std::string> metadata = {{"epoch_num", std::to_string(at.epochs)},
                                                   {"epoch_step", std::to_string(at.steps)},
                                                   {"rng_seed", std::to_string(rng.seed)},
                                                   {"rng_offset", std::to_string(rng.offset)}};
    for (const auto &[name, value] : at.notes) {
        char digits[40];
        std::snprintf(digits, sizeof digits, "%.17g", value);
        metadata[note + name] = digits;
    }
    save_checkpoint(all_of(train_network, optimizer), path, metadata);
}

TrainingPosition load_training_state(const std::string &path, const nn::Cell &train_network,
                                     const nn::Optimizer &optimizer) {
    const NamedTensors file = load_checkpoint(path);
    TrainingPosition at{count(file, path, "epoch_num"), count(file, path, "epoch_step"), {}};
    for (const auto &[key, value] : file.metadata) {
        if (key.starts_with(note))
            at.notes[key.substr(note.size())] = number<double>(file, path, key);
    }
    const RngState rng{number<uint64_t>(file, path, "rng_seed"),
                       number<uint64_t>(file, path, "rng_offset")};
    load_parameters(all_of(train_network, optimizer), file, true);
    set_rng_state(rng);
    return at;
}

}  // namespace halyard
