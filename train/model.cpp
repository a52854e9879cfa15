#include "train/model.h"

#include "primitives/tape.h"

namespace halyard {
namespace {

// The network's training flag is what it was when this goes.
class Mode {
public:
    Mode(const nn::Cell &cell, bool training) : cell_(cell), before_(cell.training()) { cell_.set_train(training); }
    ~Mode() { cell_.set_train(before_); }
    Mode(const Mode &) = delete;
    Mode &operator=(const Mode &) = delete;

private:
    const nn::Cell &cell_;
    bool before_;
};

void check_columns(const char *op, const dataset::Dataset &d) {
    if (d.get_col_names().size() < 2) throw AttrError(op, "dataset has " + std::to_string(d.get_col_names().size()) + " columns, expected data and label");
}

// Rows without end: pass after pass over a dataset.
class Endless {
public:
    explicit Endless(const dataset::Dataset &d) : dataset_(d) {}
    void next(dataset::Row &row) {
        for (bool fresh = false;; fresh = true) {
            if (!rows_) rows_.emplace(dataset_.create_dict_iterator(pass_++));
            if (rows_->next(row)) return;
            if (fresh) throw AttrError("model", "the dataset has no row");
            rows_.reset();
        }
    }

private:
    dataset::Dataset dataset_;
    std::optional<dataset::RowIterator> rows_;
    uint64_t pass_ = 0;
};

}  // namespace

Model::Model(nn::AnyCell network, nn::AnyCell loss_fn, std::optional<nn::Optimizer> optimizer, Metrics metrics)
    : network_(std::move(network)), loss_fn_(std::move(loss_fn)), optimizer_(std::move(optimizer)), metrics_(std::move(metrics)) {
    for (auto &m : metrics_.all())
        if (m.metric->needs_loss() && !loss_fn_) throw AttrError("model", "metric " + m.name + " needs a loss function");
}

void Model::train(int64_t epochs, const dataset::Dataset &data, const Callbacks &callbacks, const SinkOptions &sink) {
    if (!optimizer_) throw AttrError("model", "train() needs an optimiser");
    if (epochs < 1) throw AttrError("model", "epoch is " + std::to_string(epochs) + ", expected at least 1");
    if (sink.dataset_sink_mode && sink.sink_size != -1 && sink.sink_size < 1)
        throw AttrError("model", "sink_size is " + std::to_string(sink.sink_size) + ", expected -1 or at least 1");
    check_columns("model", data);

    const nn::TrainOneStepCell step(loss_fn_ ? nn::AnyCell(nn::WithLossCell(network_, loss_fn_)) : network_, *optimizer_);
    const Mode mode(network_, true);
    const bool sunk = sink.dataset_sink_mode;
    RunContext c;
    c.epochs = epochs;
    c.steps_per_epoch = sunk && sink.sink_size > 0 ? sink.sink_size : data.get_dataset_size();
    if (c.steps_per_epoch < 1) throw AttrError("model", "the dataset has no row");

    const auto tell = [&](void (Callback::*event)(RunContext &)) {
        for (const AnyCallback &callback : callbacks) (callback.operator->()->*event)(c);
    };
    Endless rows(data);
    tell(&Callback::on_train_begin);
    for (c.epoch = 1; c.epoch <= epochs && !c.stop; c.epoch++) {
        c.step = 0;
        tell(&Callback::on_train_epoch_begin);
        if (sunk) tell(&Callback::on_train_step_begin);
        while (c.step < c.steps_per_epoch && !c.stop) {
            dataset::Row row;
            rows.next(row);
            c.step++, c.global_step++;
            c.learning_rate = optimizer_->learning_rate();
            if (!sunk) tell(&Callback::on_train_step_begin);
            c.net_outputs = step(row[0], row[1]);
            if (!sunk) tell(&Callback::on_train_step_end);
        }
        if (sunk) tell(&Callback::on_train_step_end);
        tell(&Callback::on_train_epoch_end);
    }
    c.epoch = std::min(c.epoch, epochs);
    tell(&Callback::on_train_end);
}

std::map<std::string, double> Model::eval(const dataset::Dataset &data) const {
    check_columns("model", data);
    const Mode mode(network_, false);
    const nn::WithEvalCell evaluate(network_, loss_fn_);
    for (auto &m : metrics_.all()) m.metric->clear();
    int64_t batches = 0;
    for (const dataset::Row &row : data.create_dict_iterator()) {
        const auto [loss, outputs, label] = evaluate(row[0], row[1]);
        for (auto &m : metrics_.all()) {
            m.metric->update(outputs, label);
            if (loss.defined()) m.metric->update_loss(loss);
        }
        batches++;
    }
    if (!batches) throw AttrError("model", "the dataset has no row");
    std::map<std::string, double> out;
    for (auto &m : metrics_.all()) out[m.name] = m.metric->eval();
    return out;
}

Tensor Model::predict(const Tensor &data) const {
    const Mode mode(network_, false);
    const StopTape stop;
    return network_(data);
}

}  // namespace halyard
