// The state of a training in a file: all it takes to go on to the same bits as if it had never
// stopped.
#pragma once
#include <string>

#include "train/callbacks/run_context.h"

namespace halyard {

// The parameters of what trains (network, running statistics, loss scale) and of its optimiser, the
// position, and the state of the default random generator, from which dropout draws and on whose
// seed the order of the data hangs. The file appears whole or not at all, as save_checkpoint()'s,
// and load_checkpoint() reads it like any other.
void save_training_state(const std::string &path, const nn::Cell &train_network,
                         const nn::Optimizer &optimizer, const TrainingPosition &at);

// Takes all of it over. Throws, and changes nothing: AttrError where the file has other parameters
// than these, or no position; what load_checkpoint() throws.
TrainingPosition load_training_state(const std::string &path, const nn::Cell &train_network,
                                     const nn::Optimizer &optimizer);

}  // namespace halyard
