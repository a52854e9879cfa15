// Checkpoints: the parameters of a network in a file. A path that ends in .ckpt is MindSpore's
// format, any other one safetensors.
#pragma once
#include <string>

#include "nn/cell.h"
#include "nn/optimizer_base.h"
#include "train/checkpoint/named_tensors.h"

namespace halyard {

// Writes all parameters by their names. `path` holds either the old checkpoint or the complete new
// one, whenever the program ends. Throws IoError if the file can't be written, AttrError for
// parameters without a name or with equal names.
void save_checkpoint(const ParameterTuple &parameters, const std::string &path,
                     const std::map<std::string, std::string> &metadata = {});
void save_checkpoint(const nn::Cell &net, const std::string &path,
                     const std::map<std::string, std::string> &metadata = {});

// Throws as load_safetensors() and load_mindspore_ckpt() do.
NamedTensors load_checkpoint(const std::string &path);

// Reads the metadata only. The rest of the file is not checked.
std::map<std::string, std::string> load_metadata(const std::string &path);

// The names that did not match.
struct LoadReport {
    std::vector<std::string> param_not_load;  // parameters that the checkpoint lacks
    std::vector<std::string> ckpt_not_load;   // tensors of the checkpoint without a parameter
    // Different shapes or dtypes: "fc.weight: [10,84] here, [5,84] in the checkpoint".
    std::vector<std::string> mismatched;
    bool complete() const {
        return param_not_load.empty() && ckpt_not_load.empty() && mismatched.empty();
    }
    // Returns a line for each kind with the first few names, or "" if everything matched.
    std::string text() const;
};

// Copies tensors that match in name and shape. Dtypes are converted between floats and between
// integers. With strict_load it throws AttrError with the report, and changes nothing, unless
// everything matches.
LoadReport load_param_into_net(const nn::Cell &net, const NamedTensors &checkpoint,
                               bool strict_load = false);
LoadReport load_param_into_net(const nn::Optimizer &optimizer, const NamedTensors &checkpoint,
                               bool strict_load = false);
// Loads these parameters, whose names must differ.
LoadReport load_parameters(const ParameterTuple &parameters, const NamedTensors &checkpoint,
                           bool strict_load = false);

}  // namespace halyard
