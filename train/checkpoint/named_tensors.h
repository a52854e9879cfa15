// NamedTensors: the contents of a checkpoint file.
#pragma once
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "registry/tensor/tensor.h"

namespace halyard {

struct NamedTensors {
    std::vector<std::pair<std::string, Tensor>> tensors;  // names are unique
    std::map<std::string, std::string> metadata;
};

// Adds `name` to `taken`. Throws IoError if it is empty or already there. `path` is for messages.
void take_name(const std::string &path, const std::string &name, std::set<std::string> &taken);

// Throws IoError if an element of a bool tensor is neither 0 nor 1.
void check_bools(const std::string &path, const std::string &name, const Tensor &t);

}  // namespace halyard
