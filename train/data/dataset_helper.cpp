#include "train/data/dataset_helper.h"

#include "registry/base/error.h"

namespace halyard {

DatasetHelper::DatasetHelper(dataset::Dataset data, bool dataset_sink_mode, int64_t sink_size)
    : dataset_(std::move(data)),
      steps_(dataset_sink_mode && sink_size != -1 ? sink_size : dataset_.get_dataset_size()) {
    if (dataset_sink_mode && sink_size != -1 && sink_size < 1) {
        throw AttrError("dataset_helper", "sink_size is " + std::to_string(sink_size) +
                                              ", expected -1 or at least 1");
    }
    if (dataset_.get_dataset_size() < 1)
        throw AttrError("dataset_helper", "the dataset has no row");
}

void DatasetHelper::next() {
    for (bool fresh = !rows_;; fresh = true) {
        if (!rows_) rows_.emplace(dataset_.create_dict_iterator(pass_++));
        if (rows_->next(row_)) return;
        if (fresh) throw AttrError("dataset_helper", "the dataset has no row");
        rows_.reset();
    }
}

Tensor ConnectedNetwork::operator()() const {
    int64_t left = rows_->steps_per_epoch();
    std::vector<Tensor> out = network_.call_all([&](std::vector<Tensor> &in) {
        if (left-- == 0) return false;
        rows_->next();
        in = rows_->row_.tensors();
        return true;
    });
    if (out.size() != 1) {
        throw ShapeError("connect_network_with_dataset", network_.cls_name() + " gives " +
                                                             std::to_string(out.size()) +
                                                             " tensors, expected one");
    }
    return std::move(out[0]);
}

ConnectedNetwork connect_network_with_dataset(const nn::AnyCell &network,
                                              DatasetHelper &dataset_helper) {
    return {network, dataset_helper};
}

}  // namespace halyard
