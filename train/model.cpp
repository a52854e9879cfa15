#include "train/model.h"

#include <chrono>

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

// Asks for a row, and says how long that took and how many were ready.
bool next_row(dataset::RowIterator &rows, dataset::Row &row, RunContext &c) {
    c.queue_depth = rows.waiting(), c.queue_capacity = rows.capacity();
    const auto begin = std::chrono::steady_clock::now();
    const bool more = rows.next(row);
    c.data_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (more) c.data = row[0], c.batch_size = row[0].rank() ? row[0].size(0) : 1;
    return more;
}

// Rows without end, pass after pass over a dataset, without those that were taken before.
class Endless {
public:
    Endless(const dataset::Dataset &d, int64_t taken) : dataset_(d), pass_((uint64_t)(taken / d.get_dataset_size())) {
        dataset::Row row;
        for (taken %= d.get_dataset_size(); taken > 0; taken--) open().next(row);
    }
    void next(dataset::Row &row, RunContext &c) {
        for (bool fresh = !rows_;; fresh = true) {
            if (next_row(open(), row, c)) return;
            if (fresh) throw AttrError("model", "the dataset has no row");
            rows_.reset();
        }
    }

private:
    dataset::RowIterator &open() {
        if (!rows_) rows_.emplace(dataset_.create_dict_iterator(pass_++));
        return *rows_;
    }
    dataset::Dataset dataset_;
    uint64_t pass_;
    std::optional<dataset::RowIterator> rows_;
};

void tell(const Callbacks &callbacks, void (Callback::*event)(RunContext &), RunContext &c) {
    for (const AnyCallback &callback : callbacks) (callback.operator->()->*event)(c);
}

void at_least(const char *what, int64_t least, int64_t value) {
    if (value < least) throw AttrError("model", std::string(what) + " is " + std::to_string(value) + ", expected at least " + std::to_string(least));
}

}  // namespace

Model::Model(nn::AnyCell network, nn::AnyCell loss_fn, std::optional<nn::Optimizer> optimizer, Metrics metrics)
    : network_(std::move(network)), loss_fn_(std::move(loss_fn)), optimizer_(std::move(optimizer)), metrics_(std::move(metrics)) {
    for (auto &m : metrics_.all())
        if (m.metric->needs_loss() && !loss_fn_) throw AttrError("model", "metric " + m.name + " needs a loss function");
    if (optimizer_) train_network_ = nn::TrainOneStepCell(loss_fn_ ? nn::AnyCell(nn::WithLossCell(network_, loss_fn_)) : network_, *optimizer_);
}

void Model::train(int64_t epochs, const dataset::Dataset &data, const Callbacks &callbacks, const TrainOptions &options) {
    run(epochs, data, nullptr, callbacks, options);
}

void Model::fit(int64_t epochs, const dataset::Dataset &data, const dataset::Dataset &valid, const Callbacks &callbacks, const TrainOptions &options) {
    at_least("valid_frequency", 1, options.valid_frequency);
    check_columns("model", valid);
    run(epochs, data, &valid, callbacks, options);
}

void Model::run(int64_t epochs, const dataset::Dataset &data, const dataset::Dataset *valid, const Callbacks &callbacks, const TrainOptions &options) {
    if (!optimizer_) throw AttrError("model", "train() needs an optimiser");
    at_least("epoch", 1, epochs);
    const bool sunk = options.dataset_sink_mode;
    if (sunk && options.sink_size != -1) at_least("sink_size, unless it is -1,", 1, options.sink_size);
    at_least("initial_epoch", 0, options.initial_epoch), at_least("initial_step", 0, options.initial_step);
    check_columns("model", data);
    if (data.get_dataset_size() < 1) throw AttrError("model", "the dataset has no row");

    const Mode mode(network_, true);
    RunContext c;
    c.network = network_, c.train_network = train_network_, c.optimizer = optimizer_;
    c.epochs = epochs;
    c.steps_per_epoch = sunk && options.sink_size > 0 ? options.sink_size : data.get_dataset_size();
    c.global_step = options.initial_epoch * c.steps_per_epoch + options.initial_step;
    c.epoch = c.global_step / c.steps_per_epoch;
    Endless rows(data, c.global_step);
    tell(callbacks, &Callback::on_train_begin, c);
    while (c.epoch < epochs && !c.stop) {
        c.epoch++;
        c.step = c.global_step % c.steps_per_epoch;
        c.eval_results.clear();
        tell(callbacks, &Callback::on_train_epoch_begin, c);
        if (sunk) tell(callbacks, &Callback::on_train_step_begin, c);
        while (c.step < c.steps_per_epoch && !c.stop) {
            dataset::Row row;
            rows.next(row, c);
            c.step++, c.global_step++;
            c.learning_rate = optimizer_->learning_rate();
            if (!sunk) tell(callbacks, &Callback::on_train_step_begin, c);
            c.net_outputs = train_network_(row[0], row[1]);
            if (!sunk) tell(callbacks, &Callback::on_train_step_end, c);
        }
        if (sunk) tell(callbacks, &Callback::on_train_step_end, c);
        if (valid && c.epoch % options.valid_frequency == 0) evaluate(*valid, callbacks, c, true);
        tell(callbacks, &Callback::on_train_epoch_end, c);
    }
    tell(callbacks, &Callback::on_train_end, c);
}

std::map<std::string, double> Model::eval(const dataset::Dataset &data, const Callbacks &callbacks) const {
    check_columns("model", data);
    RunContext c;
    c.network = network_;
    evaluate(data, callbacks, c, false);
    return c.eval_results;
}

void Model::evaluate(const dataset::Dataset &data, const Callbacks &callbacks, RunContext &c, bool in_fit) const {
    const Mode mode(network_, false);
    const nn::WithEvalCell network(network_, loss_fn_);
    for (auto &m : metrics_.all()) m.metric->clear();
    Loss mean_loss;
    c.mode = RunContext::Mode::eval, c.eval_step = 0, c.eval_steps = data.get_dataset_size();
    tell(callbacks, &Callback::on_eval_begin, c);
    dataset::RowIterator rows = data.create_dict_iterator();
    for (dataset::Row row; next_row(rows, row, c);) {
        c.eval_step++;
        tell(callbacks, &Callback::on_eval_step_begin, c);
        const auto [loss, outputs, label] = network(row[0], row[1]);
        for (auto &m : metrics_.all()) {
            m.metric->update(outputs, label);
            if (loss.defined()) m.metric->update_loss(loss);
        }
        if (loss.defined()) mean_loss.update_loss(loss);
        tell(callbacks, &Callback::on_eval_step_end, c);
    }
    if (!c.eval_step) throw AttrError("model", "the dataset has no row");
    for (auto &m : metrics_.all()) c.eval_results[m.name] = m.metric->eval();
    if (in_fit && loss_fn_) c.eval_results["eval_loss"] = mean_loss.eval();
    tell(callbacks, &Callback::on_eval_end, c);
    c.mode = RunContext::Mode::train;
}

Tensor Model::predict(const Tensor &data) const {
    const Mode mode(network_, false);
    const StopTape stop;
    return network_(data);
}

}  // namespace halyard
