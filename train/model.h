// Model: a network with its loss, optimiser and metrics, trained and evaluated over datasets.
#pragma once
#include <map>
#include <optional>
#include <string>

#include "nn/optimizer.h"
#include "nn/wrap.h"
#include "train/callback.h"
#include "train/dataset.h"
#include "train/metrics.h"

namespace halyard {

// With dataset_sink_mode an epoch is sink_size steps (-1: the whole dataset), the next one goes on where it stopped, and
// callbacks hear of one step per epoch, the last one. sink_size means nothing without dataset_sink_mode.
struct SinkOptions {
    bool dataset_sink_mode = false;
    int64_t sink_size = -1;
};

class Model {
public:
    // Of each row the first column is the network's input, the second the label. Without a loss function the network returns
    // its own loss from both. Throws AttrError for metrics of a loss without one.
    Model(nn::AnyCell network, nn::AnyCell loss_fn = {}, std::optional<nn::Optimizer> optimizer = {}, Metrics metrics = {});

    // Throws AttrError without an optimiser, for epochs below 1 and for a dataset without a row.
    void train(int64_t epoch, const dataset::Dataset &train_dataset, const Callbacks &callbacks = {}, const SinkOptions &sink = {});

    // The metrics' values, begun anew; the network is in evaluation meanwhile, then as before.
    std::map<std::string, double> eval(const dataset::Dataset &valid_dataset) const;

    Tensor predict(const Tensor &data) const;  // in evaluation, without a tape

    const nn::AnyCell &predict_network() const { return network_; }

private:
    nn::AnyCell network_, loss_fn_;
    std::optional<nn::Optimizer> optimizer_;
    Metrics metrics_;
};

}  // namespace halyard
