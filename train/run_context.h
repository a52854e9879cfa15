// RunContext: what a training or an evaluation tells its callbacks about itself.
#pragma once
#include <map>
#include <optional>
#include <string>

#include "nn/cell.h"
#include "nn/optimizer.h"
#include "registry/tensor.h"

namespace halyard {

// Where a training stands.
struct TrainingPosition {
    int64_t epochs = 0, steps = 0;             // whole epochs done, and steps of the next one
    std::map<std::string, double> notes = {};  // what callbacks want to find again when the training is resumed, "EarlyStopping.eval_loss.wait"
    bool operator==(const TrainingPosition &) const = default;
};

struct RunContext {
    enum class Mode { train, eval };
    Mode mode = Mode::train;

    // Of the training; what an evaluation inside of it leaves as they are.
    int64_t epoch = 0, epochs = 0;          // epoch from 1
    int64_t step = 0, steps_per_epoch = 0;  // step of this epoch, from 1; steps_per_epoch is 0 while it isn't known
    int64_t global_step = 0;                // over all epochs, from 1
    TrainingPosition position;              // where to go on from; a step counts when it has ended. Callbacks change the notes
    double learning_rate = 0;               // of this step; of the first group where the groups have their own
    Tensor net_outputs;                     // the loss of the step that ended
    double loss() const;                    // its mean

    int64_t valid_frequency = 0;  // epochs from evaluation to evaluation in fit(); 0 in train()

    // Of the evaluation.
    int64_t eval_step = 0, eval_steps = 0;       // from 1; eval_steps is 0 while it isn't known
    std::map<std::string, double> eval_results;  // the metrics of the evaluation that ended in this epoch, "eval_loss" with them in fit()

    // Of the batch at hand, whichever the mode.
    Tensor data;                                 // its first column
    int64_t batch_size = 0;                      // its rows
    const char *unit() const;                    // what they are called: "images" where data is [N,C,H,W], else "samples"
    double data_seconds = 0;                     // how long the step waited for it
    size_t queue_depth = 0, queue_capacity = 0;  // batches that were ready when it was asked for, and how many there may be

    nn::AnyCell network;                     // what predicts
    nn::AnyCell train_network;               // what a training step calls: network, loss, and the state of loss scaling
    std::optional<nn::Optimizer> optimizer;  // empty in an evaluation outside of a training

    void request_stop() { stop = true; }  // training ends after this step
    bool stop = false;
};

}  // namespace halyard
