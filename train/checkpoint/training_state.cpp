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

using Metadata = std::map<std::string, std::string>;

const std::string note_prefix = note_key("");

// Returns the number that the text of a metadata entry is.
template<class T>
T parsed(const std::string &path, const std::string &key, const std::string &text) {
    T value{};
    const char *end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || stop != end)
        throw IoError(path, key + " is '" + text + "', expected a number");
    return value;
}

template<class T>
std::optional<T> found(const Metadata &metadata, const std::string &path, const std::string &key) {
    const auto at = metadata.find(key);
    return at == metadata.end() ? std::nullopt : std::optional(parsed<T>(path, key, at->second));
}

template<class T>
T number(const Metadata &metadata, const std::string &path, const std::string &key) {
    const std::optional<T> value = found<T>(metadata, path, key);
    if (!value)
        throw AttrError("resume", path + " has no " + key + ": it isn't the state of a training");
    return *value;
}

int64_t count(const Metadata &metadata, const std::string &path, const std::string &key) {
    const auto n = number<int64_t>(metadata, path, key);
    if (n < 0) throw IoError(path, key + " is " + std::to_string(n) + ", expected at least 0");
    return n;
}

}  // namespace

void save_training_state(const std::string &path, const nn::Cell &train_network,
                         const nn::Optimizer &optimizer, const TrainingPosition &at) {
    const RngState rng = get_rng_state();
    Metadata metadata = {{"epoch_num", std::to_string(at.epochs)},
                         {"epoch_step", std::to_string(at.steps)},
                         {"rng_seed", std::to_string(rng.seed)},
                         {"rng_offset", std::to_string(rng.offset)}};
    for (const auto &[name, value] : at.notes) {
        char digits[40];
        std::snprintf(digits, sizeof digits, "%.17g", value);
        metadata[note_key(name)] = digits;
    }
    save_checkpoint(all_of(train_network, optimizer), path, metadata);
}

TrainingPosition load_training_state(const std::string &path, const nn::Cell &train_network,
                                     const nn::Optimizer &optimizer) {
    const NamedTensors file = load_checkpoint(path);
    const Metadata &metadata = file.metadata;
    TrainingPosition at{
        count(metadata, path, "epoch_num"), count(metadata, path, "epoch_step"), {}};
    for (const auto &[key, text] : metadata) {
        if (key.starts_with(note_prefix))
            at.notes[key.substr(note_prefix.size())] = parsed<double>(path, key, text);
    }
    const RngState rng{number<uint64_t>(metadata, path, "rng_seed"),
                       number<uint64_t>(metadata, path, "rng_offset")};
    load_parameters(all_of(train_network, optimizer), file, true);
    set_rng_state(rng);
    return at;
}

std::string note_key(const std::string &name) {
    return "note: " + name;
}

std::optional<double> saved_note(const std::string &path, const Metadata &metadata,
                                 const std::string &name) {
    return found<double>(metadata, path, note_key(name));
}

std::optional<uint64_t> saved_seed(const std::string &path, const Metadata &metadata) {
    return found<uint64_t>(metadata, path, "rng_seed");
}

}  // namespace halyard
