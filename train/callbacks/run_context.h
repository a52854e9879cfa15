// RunContext: what a training or an evaluation tells its callbacks about itself.
#pragma once
#include <map>
#include <optional>
#include <string>

#include "nn/cell.h"
#include "nn/optimizer.h"
#include "registry/tensor/tensor.h"

namespace halyard {

// Where a training stands.
struct TrainingPosition {
    int64_t epochs = 0, steps = 0;  // whole epochs done, and steps of the next one
    // what callbacks want to find again when the training is resumed,
    // "EarlyStopping.eval_loss.wait"
    std::map<std::string, double> notes = {};
    bool operator==(const TrainingPosition &) const = default;
};

struct RunContext {
    enum class Mode { train, eval };
    Mode mode = Mode::train;

    // Of the training; what an evaluation inside of it leaves as they are.
    int64_t epoch = 0, epochs = 0;  // epoch from 1
    // step of this epoch, from 1; steps_per_epoch is 0 while it isn't known
    int64_t step = 0, steps_per_epoch = 0;
    int64_t global_step = 0;  // over all epochs, from 1
    // where to go on from; a step counts when it has ended. Callbacks change the notes
    TrainingPosition position;
    // of this step; of the first group where the groups have their own
    double learning_rate = 0;
    Tensor net_outputs;   // the loss of the step that ended
    double loss() const;  // its mean

    int64_t valid_frequency = 0;  // epochs from evaluation to evaluation in fit(); 0 in train()

    // Of the evaluation.
    int64_t eval_step = 0, eval_steps = 0;  // from 1; eval_steps is 0 while it isn't known
    // the metrics of the evaluation that ended in this epoch, "eval_loss" with them in fit()
    std::map<std::string, double> eval_results;

    // Of the batch at hand, whichever the mode.
    Tensor data;             // its first column
    int64_t batch_size = 0;  // its rows
    // what they are called: "images" where data is [N,C,H,W], else "samples"
    const char *unit() const;
    double data_seconds = 0;  // how long the step waited for it
    // batches that were ready when it was asked for, and how many there may be
    size_t queue_depth = 0, queue_capacity = 0;

    nn::AnyCell network;  // what predicts
    // what a training step calls: network, loss, and the state of loss scaling
    nn::AnyCell train_network;
    std::optional<nn::Optimizer> optimizer;  // empty in an evaluation outside of a training

    void request_stop() { stop = true; }  // training ends after this step
    bool stop = false;
};

}  // namespace halyard
