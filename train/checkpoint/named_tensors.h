// NamedTensors: what a checkpoint file holds.
#pragma once
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "registry/tensor/tensor.h"

namespace halyard {

struct NamedTensors {
    std::vector<std::pair<std::string, Tensor>> tensors;  // names differ
    std::map<std::string, std::string> metadata;
};

// For readers and writers of such files; `path` is for messages. Throws IoError where `name` is
// empty, or was taken before.
void take_name(const std::string &path, const std::string &name, std::set<std::string> &taken);

// Throws IoError where a bool is neither 0 nor 1.
void check_truth(const std::string &path, const std::string &name, const Tensor &t);

}  // namespace halyard
