#include "train/training_state.h"

#include <charconv>

#include "primitives/random.h"
#include "registry/error.h"
#include "train/checkpoint.h"

namespace halyard {
namespace {

ParameterTuple all_of(const nn::Cell &train_network, const nn::Optimizer &optimizer) {
    ParameterTuple all = train_network.get_parameters();
    const ParameterTuple state = optimizer.get_parameters();
    all.insert(all.end(), state.begin(), state.end());
    return all;
}

template<class T> T number(const NamedTensors &file, const std::string &path, const std::string &key) {
    const auto at = file.metadata.find(key);
    if (at == file.metadata.end()) throw AttrError("resume", path + " has no " + key + ": it isn't the state of a training");
    T value{};
    const char *end = at->second.data() + at->second.size();
    const auto [stop, error] = std::from_chars(at->second.data(), end, value);
    if (error != std::errc() || stop != end) throw IoError(path, key + " is '" + at->second + "', expected a number");
    return value;
}

}  // namespace

void save_training_state(const std::string &path, const nn::Cell &train_network, const nn::Optimizer &optimizer, const TrainingPosition &at) {
    const RngState rng = get_rng_state();
    save_checkpoint(all_of(train_network, optimizer), path,
                    {{"epoch_num", std::to_string(at.epochs)},
                     {"epoch_step", std::to_string(at.steps)},
                     {"rng_seed", std::to_string(rng.seed)},
                     {"rng_offset", std::to_string(rng.offset)}});
}

TrainingPosition load_training_state(const std::string &path, const nn::Cell &train_network, const nn::Optimizer &optimizer) {
    const NamedTensors file = load_checkpoint(path);
    const TrainingPosition at{number<int64_t>(file, path, "epoch_num"), number<int64_t>(file, path, "epoch_step")};
    const RngState rng{number<uint64_t>(file, path, "rng_seed"), number<uint64_t>(file, path, "rng_offset")};
    load_parameters(all_of(train_network, optimizer), file, true);
    set_rng_state(rng);
    return at;
}

}  // namespace halyard
