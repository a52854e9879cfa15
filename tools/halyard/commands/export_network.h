// halyard export NETWORK --for c99.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "tools/export/project.h"
#include "tools/halyard/commands/export_int8.h"

namespace halyard::command {

struct NetworkRequest {
    std::string network, weights;  // weights: a checkpoint, or a folder of checkpoints; "" for none
    std::string dtype;
    std::optional<int64_t> batch_size, size, classes;
    std::optional<uint64_t> seed;
    bool unfused = false, folds_norms = false;
    Int8Request int8;
};

// Writes the project and prints what it takes.
int export_network(const NetworkRequest &request, const exporting::Project &project);

}  // namespace halyard::command
