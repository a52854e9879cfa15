// RunContext: the state of a training or an evaluation that callbacks see.
#pragma once
#include <map>
#include <optional>
#include <string>

#include "nn/cell.h"
#include "nn/optimizer.h"
#include "registry/tensor/tensor.h"

namespace halyard {

// The progress of a training.
struct TrainingPosition {
    int64_t epochs = 0, steps = 0;  // completed epochs, and steps of the next one
    // The state of callbacks for a resumed training, such as "EarlyStopping.eval_loss.wait".
    std::map<std::string, double> notes = {};
    bool operator==(const TrainingPosition &) const = default;
};

struct RunContext {
    enum class Mode { train, eval };
    Mode mode = Mode::train;

    // The training. An evaluation within it leaves these fields unchanged. Counts start at 1.
    int64_t epoch = 0, epochs = 0;
    int64_t step = 0, steps_per_epoch = 0;  // within the epoch; steps_per_epoch is 0 until known
    int64_t global_step = 0;                // over all epochs
    // The position from which a training resumes; it advances at the end of a step. Callbacks may
    // change its notes.
    TrainingPosition position;
    double learning_rate = 0;  // of this step; of the first group if groups have their own
    Tensor net_outputs;        // the loss of the step that ended
    // Returns the mean of net_outputs.
    double loss() const;

    int64_t valid_frequency = 0;  // fit() evaluates after so many epochs; 0 in train()

    // The evaluation.
    int64_t eval_step = 0, eval_steps = 0;  // counts from 1; eval_steps is 0 until known
    // The metrics of the evaluation that ended in this epoch; in fit() also "eval_loss".
    std::map<std::string, double> eval_results;

    // The current batch, in both modes.
    Tensor data;             // the first column
    int64_t batch_size = 0;  // the number of rows
    // Returns the name of a row: "images" if data is [N,C,H,W], else "samples".
    const char *unit() const;
    double data_seconds = 0;  // the time that the step waited for the batch
    // The number of batches in the queue when the step took this one, and the queue's length.
    size_t queue_depth = 0, queue_capacity = 0;

    nn::AnyCell network;        // the network without its loss
    nn::AnyCell train_network;  // the cell of a training step: network, loss, loss scale
    std::optional<nn::Optimizer> optimizer;  // empty in an evaluation outside of a training

    // Ends the training after this step.
    void request_stop() { stop = true; }
    bool stop = false;
};

}  // namespace halyard
