// Model: a network with its loss, optimiser and metrics, trained and evaluated over datasets.
#pragma once
#include <map>
#include <optional>
#include <string>

#include "nn/optimizer.h"
#include "nn/wrap.h"
#include "train/callbacks/callback.h"
#include "train/data/dataset.h"
#include "train/metrics/metric_set.h"

namespace halyard {

struct TrainOptions {
    // With dataset_sink_mode an epoch is sink_size steps (-1: the whole dataset) in one call of the
    // training cell (Cell::call_all). The next epoch continues with the following batch, and
    // callbacks get one step per epoch, the last one. sink_size has no meaning without
    // dataset_sink_mode.
    bool dataset_sink_mode = false;
    int64_t sink_size = -1;
    // The part of the training that was done before: whole epochs, and steps of the next one. The
    // batches are those of an uninterrupted training.
    int64_t initial_epoch = 0, initial_step = 0;
    // The state of callbacks, which Model::resume() reads from a checkpoint.
    std::map<std::string, double> notes = {};
    // fit() evaluates after every valid_frequency epochs.
    int64_t valid_frequency = 1;
};

struct ModelOptions {
    // The mixed-precision level of the network (nn/amp.h). At O2 a model without a
    // loss_scale_manager gets a DynamicLossScaleManager, as in MindSpore.
    std::string amp_level = "O0";
    std::optional<bool> keep_batchnorm_fp32 = {};
    // The network that eval() calls in place of network and loss_fn, with all columns of a row. It
    // returns {outputs, label} or {loss, outputs, label}. For another order eval_indexes are the
    // indices of loss, outputs and label among its results; -1 as the first means no loss.
    nn::AnyCell eval_network = {};
    std::vector<int64_t> eval_indexes = {};
};

class Model {
public:
    // The first column of a row is the network's input, the second the label. Without a loss
    // function the network gets all columns and returns its loss. With a loss_scale_manager a
    // training step scales the loss; a manager that drops overflows (nn/wrap.h) also divides the
    // gradients, otherwise the optimiser's loss_scale has to. Throws AttrError for a metric of the
    // loss without a loss function, for options out of range, and for eval_indexes without an
    // eval_network.
    Model(nn::AnyCell network, nn::AnyCell loss_fn = {},
          std::optional<nn::Optimizer> optimizer = {}, Metrics metrics = {},
          const std::optional<nn::LossScaleManager> &loss_scale_manager = {},
          const ModelOptions &options = {});

    // Trains up to that epoch. Throws AttrError without an optimiser, for epochs below 1, for an
    // empty dataset and for options out of range.
    void train(int64_t epoch, const dataset::Dataset &train_dataset,
               const Callbacks &callbacks = {}, const TrainOptions &options = {});

    // Restores a training that ModelCheckpoint or save_training_state() saved: the state of the
    // network, the optimiser and the default random generator. train() and fit() continue with the
    // options that it returns. Throws as load_training_state() does, and AttrError without an
    // optimiser.
    TrainOptions resume(const std::string &checkpoint);

    // Trains as train() does and evaluates at the ends of epochs, before on_train_epoch_end(). The
    // metrics, and the mean loss as "eval_loss" if there is a loss function, are then in
    // RunContext::eval_results.
    void fit(int64_t epoch, const dataset::Dataset &train_dataset,
             const dataset::Dataset &valid_dataset, const Callbacks &callbacks = {},
             const TrainOptions &options = {});

    // Clears the metrics and returns their values over the dataset. The network is in evaluation
    // mode meanwhile.
    std::map<std::string, double> eval(const dataset::Dataset &valid_dataset,
                                       const Callbacks &callbacks = {}) const;

    // Returns the network's output, in evaluation mode and without recording.
    Tensor predict(const Tensor &data) const;

    const nn::AnyCell &predict_network() const { return network_; }
    // Returns the cell of a training step; empty without an optimiser.
    const nn::AnyCell &train_network() const { return train_network_; }
    // Replaces the cell of a training step, (data, label) -> loss, for instance to clip gradients.
    // It must call the optimiser that the model was given.
    void set_train_network(const nn::AnyCell &step) { train_network_ = step; }

private:
    void run(int64_t epochs, const dataset::Dataset &data, const dataset::Dataset *valid,
             const Callbacks &callbacks, const TrainOptions &options);
    void evaluate(const dataset::Dataset &data, const Callbacks &callbacks, RunContext &c,
                  bool in_fit) const;

    struct Evaluated {
        Tensor loss, outputs, label;  // loss may be undefined
    };
    Evaluated evaluate_row(const dataset::Row &row) const;

    nn::AnyCell network_, loss_fn_, train_network_, eval_network_;
    std::vector<int64_t> eval_indexes_;
    std::optional<nn::Optimizer> optimizer_;
    Metrics metrics_;
};

}  // namespace halyard
