// Checkpoints: the parameters of a network in a file. A path that ends in .ckpt is MindSpore's
// format, any other one safetensors.
#pragma once
#include <string>

#include "nn/cell.h"
#include "nn/optimizer_base.h"
#include "train/checkpoint/named_tensors.h"

namespace halyard {

// All parameters by their names; whatever ends the program, `path` holds the old checkpoint or the
// new one, whole. Throws IoError where it can't be written, AttrError for parameters without a name
// or with the same one.
void save_checkpoint(const ParameterTuple &parameters, const std::string &path,
                     const std::map<std::string, std::string> &metadata = {});
void save_checkpoint(const nn::Cell &net, const std::string &path,
                     const std::map<std::string, std::string> &metadata = {});

// Throws what safetensors.h and mindspore_ckpt.h say.
NamedTensors load_checkpoint(const std::string &path);

// The metadata alone, in the time that takes. Whether the file is whole isn't looked at.
std::map<std::string, std::string> load_metadata(const std::string &path);

// What did not match, by name.
struct LoadReport {
    // parameters of the network that the checkpoint hasn't
    std::vector<std::string> param_not_load;
    std::vector<std::string> ckpt_not_load;  // tensors of the checkpoint that no parameter takes
    // both have it, with other shapes: "fc.weight: [10,84] here, [5,84] in the checkpoint"
    std::vector<std::string> unlike;
    bool complete() const {
        return param_not_load.empty() && ckpt_not_load.empty() && unlike.empty();
    }
    std::string text() const;  // a line for each kind, with the first few names; "" when complete
};

// Copies what matches in name and shape, dtypes converted between floats or between integers.
// Strict: throws AttrError with the report, and changes nothing, unless everything matches.
LoadReport load_param_into_net(const nn::Cell &net, const NamedTensors &checkpoint,
                               bool strict_load = false);
LoadReport load_param_into_net(const nn::Optimizer &optimizer, const NamedTensors &checkpoint,
                               bool strict_load = false);
// their names differ
LoadReport load_parameters(const ParameterTuple &parameters, const NamedTensors &checkpoint,
                           bool strict_load = false);

}  // namespace halyard
