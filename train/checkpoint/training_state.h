// Saves and loads the state of a training. A training resumed from it computes the same bits as one
// without interruption.
#pragma once
#include <map>
#include <optional>
#include <string>

#include "train/callbacks/run_context.h"

namespace halyard {

// Saves the parameters of the training network (with running statistics and loss scale) and of its
// optimiser, the position, and the state of the default random generator, which determines dropout
// and the order of the data. The file is written as by save_checkpoint(), and load_checkpoint()
// reads it.
void save_training_state(const std::string &path, const nn::Cell &train_network,
                         const nn::Optimizer &optimizer, const TrainingPosition &at);

// Restores the state. Throws AttrError, and changes nothing, if the file has other parameters or no
// position. Throws as load_checkpoint() does.
TrainingPosition load_training_state(const std::string &path, const nn::Cell &train_network,
                                     const nn::Optimizer &optimizer);

// Return what `metadata` holds, which is the one of the file `path`: the seed of the default random
// generator, and a note of TrainingPosition. Return nothing if there is none, as in the file of a
// network alone. Throw IoError if it isn't a number.
std::optional<uint64_t> saved_seed(const std::string &path,
                                   const std::map<std::string, std::string> &metadata);
std::optional<double> saved_note(const std::string &path,
                                 const std::map<std::string, std::string> &metadata,
                                 const std::string &name);
// Returns the key of a note of TrainingPosition in the file's metadata.
std::string note_key(const std::string &name);

}  // namespace halyard
