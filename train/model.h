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
    // With dataset_sink_mode an epoch is sink_size steps (-1: the whole dataset), the next one goes
    // on where it stopped, and callbacks hear of one step per epoch, the last one. sink_size means
    // nothing without dataset_sink_mode.
    bool dataset_sink_mode = false;
    int64_t sink_size = -1;
    // What was trained before: whole epochs, and steps of the next one. Batches come as they would
    // have if all had run at once.
    int64_t initial_epoch = 0, initial_step = 0;
    std::map<std::string, double> notes = {};  // of callbacks, as Model::resume() found them
    // of fit(): evaluations are at the ends of the epochs it divides
    int64_t valid_frequency = 1;
};

struct ModelOptions {
    // Mixed precision of the network, before its first step (nn/amp.h). At O2 a model without a
    // loss_scale_manager gets a DynamicLossScaleManager, as in MindSpore.
    std::string amp_level = "O0";
    std::optional<bool> keep_batchnorm_fp32 = {};
    // What eval() calls in place of network and loss_fn, with all columns of a row. It returns
    // outputs and label, or loss, outputs and label; eval_indexes are the places of loss, outputs
    // and label among what it returns in another order, loss -1: none.
    nn::AnyCell eval_network = {};
    std::vector<int64_t> eval_indexes = {};
};

class Model {
public:
    // Of each row the first column is the network's input, the second the label. Without a loss
    // function the network returns its own loss, from all columns. With loss_scale_manager a
    // training step scales the loss, and one that drops overflows (nn/wrap.h) divides the gradients
    // again; else the optimiser's loss_scale has to. Throws AttrError for metrics of a loss without
    // one, for options out of range, and for eval_indexes without an eval_network.
    Model(nn::AnyCell network, nn::AnyCell loss_fn = {},
          std::optional<nn::Optimizer> optimizer = {}, Metrics metrics = {},
          const std::optional<nn::LossScaleManager> &loss_scale_manager = {},
          const ModelOptions &options = {});

    // Up to that epoch. Throws AttrError without an optimiser, for epochs below 1, for a dataset
    // without a row, and for options out of range.
    void train(int64_t epoch, const dataset::Dataset &train_dataset,
               const Callbacks &callbacks = {}, const TrainOptions &options = {});

    // Takes over what ModelCheckpoint, or save_training_state(), kept of this model's training: its
    // parameters, the optimiser's, and the default random generator's. train() and fit() go on from
    // the options that it returns. Throws as load_training_state() does, and AttrError without an
    // optimiser.
    TrainOptions resume(const std::string &checkpoint);

    // train() that evaluates at the end of epochs, before callbacks hear of that end: in
    // RunContext::eval_results they find the metrics and, where there is a loss function, its mean
    // as "eval_loss".
    void fit(int64_t epoch, const dataset::Dataset &train_dataset,
             const dataset::Dataset &valid_dataset, const Callbacks &callbacks = {},
             const TrainOptions &options = {});

    // The metrics' values, begun anew; the network is in evaluation meanwhile, then as before.
    std::map<std::string, double> eval(const dataset::Dataset &valid_dataset,
                                       const Callbacks &callbacks = {}) const;

    Tensor predict(const Tensor &data) const;  // in evaluation, without a tape

    const nn::AnyCell &predict_network() const { return network_; }
    // what a training step calls; empty without an optimiser
    const nn::AnyCell &train_network() const { return train_network_; }
    // A training step of one's own, (data, label) -> loss: with clipped gradients, say. It calls
    // the optimiser that the model knows.
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
