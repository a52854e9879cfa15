// DatasetHelper: the rows of a dataset for handwritten training loops. Each loop over it is an
// epoch:
//
//   DatasetHelper dataset_helper(data, true, 100);
//   for (int64_t epoch = 0; epoch < 10; epoch++)
//       for (const dataset::Row &inputs : dataset_helper) net(inputs[0], inputs[1]);
//
// A network that is connected with it makes the steps of an epoch in one call:
//
//   const ConnectedNetwork connected = connect_network_with_dataset(net, dataset_helper);
//   for (int64_t epoch = 0; epoch < 10; epoch++) loss = connected();
#pragma once
#include <optional>

#include "nn/cell.h"
#include "train/data/dataset.h"

namespace halyard {

class DatasetHelper {
public:
    // With dataset_sink_mode an epoch has sink_size rows (-1: as many as the dataset), and the next
    // epoch continues with the following row. Without it sink_size has no meaning. Throws AttrError
    // for another sink_size and for an empty dataset.
    explicit DatasetHelper(dataset::Dataset data, bool dataset_sink_mode = true,
                           int64_t sink_size = -1);

    int64_t steps_per_epoch() const { return steps_; }

    struct End {};
    class Cursor {
    public:
        explicit Cursor(DatasetHelper &from) : from_(&from), left_(from.steps_) { from_->next(); }
        const dataset::Row &operator*() const { return from_->row_; }
        Cursor &operator++() {
            if (--left_ > 0) from_->next();
            return *this;
        }
        bool operator!=(End) const { return left_ > 0; }

    private:
        DatasetHelper *from_;
        int64_t left_;
    };
    Cursor begin() { return Cursor(*this); }
    End end() const { return {}; }

private:
    friend class ConnectedNetwork;
    void next();
    dataset::Dataset dataset_;
    int64_t steps_;
    std::optional<dataset::RowIterator> rows_;  // the current pass
    uint64_t pass_ = 0;
    dataset::Row row_;
};

// A cell that takes its inputs from a DatasetHelper, which must outlive it.
class ConnectedNetwork {
public:
    ConnectedNetwork(nn::AnyCell network, DatasetHelper &rows)
        : network_(std::move(network)), rows_(&rows) {}
    // Calls the cell with all columns of each row of an epoch (Cell::call_all), and returns the
    // output of the last call. Throws ShapeError if the cell has several outputs.
    Tensor operator()() const;

private:
    nn::AnyCell network_;
    DatasetHelper *rows_;
};

// Returns the network with the helper's rows as its inputs.
ConnectedNetwork connect_network_with_dataset(const nn::AnyCell &network,
                                              DatasetHelper &dataset_helper);

}  // namespace halyard
