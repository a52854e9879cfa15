#include "train/model.h"

#include <algorithm>
#include <chrono>
#include <functional>

#include "nn/amp.h"
#include "primitives/autograd/tape.h"
#include "registry/base/log.h"
#include "train/checkpoint/training_state.h"

namespace halyard {
namespace {

// Stores the number of steps per epoch with the position and warns if it differs from the saved
// one: the position then means other rows of the data.
void note_steps(RunContext &c) {
    constexpr const char *key = "Model.steps_per_epoch";
    const auto saved = c.position.notes.find(key);
    const auto steps = double(c.steps_per_epoch);
    if (saved != c.position.notes.end() && saved->second != steps) {
        log(LogLevel::warning, "model",
            "an epoch had " + std::to_string(int64_t(saved->second)) +
                " steps where the training stopped, and has " + std::to_string(c.steps_per_epoch) +
                " where it goes on: the batch size or the data is another one");
    }
    c.position.notes[key] = steps;
}

// Sets a cell to training or evaluation and restores its flag at the end of the scope.
class ScopedMode {
public:
    ScopedMode(const nn::Cell &cell, bool training) : cell_(cell), before_(cell.training()) {
        cell_.set_train(training);
    }
    ~ScopedMode() { cell_.set_train(before_); }
    ScopedMode(const ScopedMode &) = delete;
    ScopedMode &operator=(const ScopedMode &) = delete;

private:
    const nn::Cell &cell_;
    bool before_;
};

void check_columns(const dataset::Dataset &d) {
    if (d.get_col_names().size() < 2) {
        throw AttrError("model", "dataset has " + std::to_string(d.get_col_names().size()) +
                                     " columns, expected data and label");
    }
}

// Takes the next row and stores the waiting time and the queue's depth in `c`. Returns false at the
// end.
bool next_row(dataset::RowIterator &rows, dataset::Row &row, RunContext &c) {
    const dataset::QueueStats before = rows.stats();
    c.queue_depth = before.depth;
    c.queue_capacity = before.capacity;
    const auto begin = std::chrono::steady_clock::now();
    const bool more = rows.next(row);
    c.data_seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (more) {
        c.data = row[0];
        c.batch_size = row[0].rank() ? row[0].size(0) : 1;
    }
    return more;
}

// The rows of a training. An epoch is one pass over the dataset, or with `endless` a number of
// steps of passes that follow each other.
class Rows {
public:
    // Skips the `taken` rows of an earlier training. A pass has `size` rows; -1 means endless.
    Rows(const dataset::Dataset &d, bool endless, int64_t size, int64_t taken)
        : dataset_(d), endless_(endless) {
        if (endless) open(size > 0 ? taken / size : 0, size > 0 ? taken % size : taken);
    }
    void begin_epoch(int64_t epoch, int64_t step) {
        if (!endless_) open(epoch - 1, step);
    }
    // Sets the next row. Returns false at the end of the epoch.
    bool next(dataset::Row &row, RunContext &c) {
        if (next_row(*rows_, row, c)) return true;
        if (!endless_) return false;
        open(pass_ + 1, 0);
        if (!next_row(*rows_, row, c)) throw AttrError("model", "the dataset has no row");
        return true;
    }

private:
    void open(int64_t pass, int64_t start) {
        pass_ = pass;
        rows_.emplace(dataset_.create_dict_iterator(uint64_t(pass), 4, start));
    }
    dataset::Dataset dataset_;
    bool endless_;
    int64_t pass_ = 0;
    std::optional<dataset::RowIterator> rows_;
};

// Calls one function of all callbacks. Those with after_others() come last, because they save what
// the others changed.
void notify(const Callbacks &callbacks, void (Callback::*event)(RunContext &), RunContext &c) {
    for (const bool last : {false, true})
        for (const AnyCallback &callback : callbacks)
            if (callback->after_others() == last) (callback.operator->()->*event)(c);
}

void check_min(const char *what, int64_t min, int64_t value) {
    if (value < min) {
        throw AttrError("model", std::string(what) + " is " + std::to_string(value) +
                                     ", expected at least " + std::to_string(min));
    }
}

// Takes the row of the epoch's next step. Returns false at the end.
bool next_step(Rows &rows, dataset::Row &row, RunContext &c) {
    if (c.stop || c.step >= c.steps_per_epoch || !rows.next(row, c)) return false;
    c.step++;
    c.global_step++;
    c.learning_rate = c.optimizer->learning_rate();
    return true;
}

// Returns the loss of a step.
Tensor loss_of(std::vector<Tensor> outputs) {
    if (outputs.size() != 1) {
        throw ShapeError("model", "a training step gives " + std::to_string(outputs.size()) +
                                      " tensors, expected the loss");
    }
    return std::move(outputs[0]);
}

// Whether a step gets a row's data and label, or all columns.
enum class StepInputs : uint8_t { data_and_label, all };

void set_inputs(const dataset::Row &row, StepInputs inputs, std::vector<Tensor> &in) {
    const std::vector<Tensor> &all = row.tensors();
    in.assign(all.begin(), inputs == StepInputs::all ? all.end() : all.begin() + 2);
}

void run_steps(Rows &rows, StepInputs inputs, const Callbacks &callbacks, RunContext &c) {
    std::vector<Tensor> in;
    for (dataset::Row row; next_step(rows, row, c);) {
        notify(callbacks, &Callback::on_train_step_begin, c);
        set_inputs(row, inputs, in);
        c.net_outputs = loss_of(c.train_network.call(in));
        const bool last = c.step == c.steps_per_epoch;
        c.position.epochs = last ? c.epoch : c.epoch - 1;
        c.position.steps = last ? 0 : c.step;
        notify(callbacks, &Callback::on_train_step_end, c);
    }
}

// Runs the steps in one call of the cell, which callbacks see as one step.
void run_sink(Rows &rows, StepInputs inputs, const Callbacks &callbacks, RunContext &c) {
    notify(callbacks, &Callback::on_train_step_begin, c);
    const int64_t before = c.step;
    dataset::Row row;
    c.net_outputs = {};  // its memory is used again, unless a callback keeps it
    std::vector<Tensor> out = c.train_network.call_all([&](std::vector<Tensor> &in) {
        if (!next_step(rows, row, c)) return false;
        set_inputs(row, inputs, in);
        return true;
    });
    if (c.step > before) c.net_outputs = loss_of(std::move(out));
}

// Runs the remaining steps of the epoch.
void run_epoch(Rows &rows, StepInputs inputs, const Callbacks &callbacks, RunContext &c,
               bool sunk) {
    if (sunk)
        run_sink(rows, inputs, callbacks, c);
    else
        run_steps(rows, inputs, callbacks, c);
    if (c.stop) return;
    if (c.step == 0) throw AttrError("model", "the dataset has no row");
    // The epoch is complete even if damaged rows were skipped.
    c.position.epochs = c.epoch;
    c.position.steps = 0;
}

void check_eval_indexes(const ModelOptions &options) {
    const std::vector<int64_t> &places = options.eval_indexes;
    if (places.empty()) return;
    if (!options.eval_network)
        throw AttrError("model", "eval_indexes are given without an eval_network");
    if (places.size() != 3) {
        throw AttrError("model", "eval_indexes are " + std::to_string(places.size()) +
                                     " places, expected 3: of loss, outputs and label");
    }
    check_min("eval_indexes' place of the loss", -1, places[0]);
    check_min("eval_indexes' place of the outputs", 0, places[1]);
    check_min("eval_indexes' place of the label", 0, places[2]);
}

}  // namespace

Model::Model(nn::AnyCell network, nn::AnyCell loss_fn, std::optional<nn::Optimizer> optimizer,
             Metrics metrics, const std::optional<nn::LossScaleManager> &loss_scale_manager,
             const ModelOptions &options)
    : network_(std::move(network)), loss_fn_(std::move(loss_fn)),
      eval_network_(options.eval_network), eval_indexes_(options.eval_indexes),
      optimizer_(std::move(optimizer)), metrics_(std::move(metrics)) {
    check_eval_indexes(options);
    const bool has_loss = loss_fn_ ||
                          (eval_network_ && (eval_indexes_.empty() || eval_indexes_[0] >= 0));
    for (auto &m : metrics_.all()) {
        if (m.metric->needs_loss() && !has_loss)
            throw AttrError("model", "metric " + m.name + " needs a loss function");
    }
    nn::auto_mixed_precision(network_, options.amp_level, options.keep_batchnorm_fp32);
    if (!optimizer_) return;
    std::optional<nn::LossScaleManager> scale = loss_scale_manager;
    if (!scale && nn::resolved_amp_level(options.amp_level) == "O2")
        scale = nn::DynamicLossScaleManager();
    const nn::AnyCell with_loss = loss_fn_ ? nn::AnyCell(nn::WithLossCell(network_, loss_fn_))
                                           : network_;
    if (scale && scale->get_drop_overflow_update())
        train_network_ = nn::TrainOneStepWithLossScaleCell(with_loss, *optimizer_, *scale);
    else {
        train_network_ = nn::TrainOneStepCell(with_loss, *optimizer_,
                                              scale ? scale->get_loss_scale() : 1);
    }
}

void Model::train(int64_t epochs, const dataset::Dataset &data, const Callbacks &callbacks,
                  const TrainOptions &options) {
    run(epochs, data, nullptr, callbacks, options);
}

void Model::fit(int64_t epochs, const dataset::Dataset &data, const dataset::Dataset &valid,
                const Callbacks &callbacks, const TrainOptions &options) {
    check_min("valid_frequency", 1, options.valid_frequency);
    check_columns(valid);
    run(epochs, data, &valid, callbacks, options);
}

void Model::run(int64_t epochs, const dataset::Dataset &data, const dataset::Dataset *valid,
                const Callbacks &callbacks, const TrainOptions &options) {
    if (!optimizer_) throw AttrError("model", "train() needs an optimiser");
    check_min("epoch", 1, epochs);
    const bool sunk = options.dataset_sink_mode;
    const bool counted = sunk && options.sink_size != -1;
    if (counted) check_min("sink_size, unless it is -1,", 1, options.sink_size);
    check_min("initial_epoch", 0, options.initial_epoch);
    check_min("initial_step", 0, options.initial_step);
    if (loss_fn_) check_columns(data);
    const int64_t size = data.get_dataset_size();
    if (size == 0) throw AttrError("model", "the dataset has no row");
    if (size < 0 && !counted) {
        throw AttrError(
            "model", "the dataset has no end, so an epoch needs dataset_sink_mode and a sink_size");
    }

    const ScopedMode mode(network_, true);
    RunContext c;
    c.network = network_;
    c.train_network = train_network_;
    c.optimizer = optimizer_;
    c.epochs = epochs;
    c.valid_frequency = valid ? options.valid_frequency : 0;
    c.steps_per_epoch = counted ? options.sink_size : size;
    c.global_step = options.initial_epoch * c.steps_per_epoch + options.initial_step;
    c.epoch = c.global_step / c.steps_per_epoch;
    c.position = {c.epoch, c.global_step % c.steps_per_epoch, options.notes};
    note_steps(c);
    Rows rows(data, counted, size, c.global_step);
    const StepInputs inputs = loss_fn_ ? StepInputs::data_and_label : StepInputs::all;
    notify(callbacks, &Callback::on_train_begin, c);
    while (c.epoch < epochs && !c.stop) {
        c.epoch++;
        c.step = c.position.steps;
        c.eval_results.clear();
        rows.begin_epoch(c.epoch, c.step);
        notify(callbacks, &Callback::on_train_epoch_begin, c);
        run_epoch(rows, inputs, callbacks, c, sunk);
        if (sunk) notify(callbacks, &Callback::on_train_step_end, c);
        if (valid && c.epoch % options.valid_frequency == 0) evaluate(*valid, callbacks, c, true);
        notify(callbacks, &Callback::on_train_epoch_end, c);
    }
    notify(callbacks, &Callback::on_train_end, c);
}

TrainOptions Model::resume(const std::string &checkpoint) {
    if (!optimizer_) throw AttrError("model", "resume() needs an optimiser");
    const TrainingPosition at = load_training_state(checkpoint, train_network_, *optimizer_);
    return {.initial_epoch = at.epochs, .initial_step = at.steps, .notes = at.notes};
}

std::map<std::string, double> Model::eval(const dataset::Dataset &data,
                                          const Callbacks &callbacks) const {
    if (!eval_network_) check_columns(data);
    RunContext c;
    c.network = network_;
    evaluate(data, callbacks, c, false);
    return c.eval_results;
}

Model::Evaluated Model::evaluate_row(const dataset::Row &row) const {
    if (!eval_network_) {
        const auto [loss, outputs, label] = nn::WithEvalCell(network_, loss_fn_)(row[0], row[1]);
        return {loss, outputs, label};
    }
    const StopTape stop;
    const std::vector<Tensor> all = eval_network_.call(row.tensors());
    const auto at = [&](const char *what, int64_t place) {
        if (place >= int64_t(all.size())) {
            throw AttrError("model", std::string("eval_indexes' place of the ") + what + " is " +
                                         std::to_string(place) + ", but eval_network returns " +
                                         std::to_string(all.size()) + " tensors");
        }
        return place < 0 ? Tensor() : all[size_t(place)];
    };
    if (!eval_indexes_.empty()) {
        return {at("loss", eval_indexes_[0]), at("outputs", eval_indexes_[1]),
                at("label", eval_indexes_[2])};
    }
    if (all.size() != 2 && all.size() != 3) {
        throw AttrError("model", "eval_network returns " + std::to_string(all.size()) +
                                     " tensors, expected outputs and label, or loss, outputs and "
                                     "label; eval_indexes say where they are among more");
    }
    const bool with_loss = all.size() == 3;
    return {with_loss ? all[0] : Tensor(), all[with_loss], all[with_loss + 1]};
}

void Model::evaluate(const dataset::Dataset &data, const Callbacks &callbacks, RunContext &c,
                     bool in_fit) const {
    const ScopedMode mode(network_, false);
    const ScopedMode eval_mode(eval_network_ ? eval_network_ : network_, false);
    for (auto &m : metrics_.all())
        m.metric->clear();
    Loss mean_loss;
    bool has_loss = false;
    c.mode = RunContext::Mode::eval;
    c.eval_step = 0;
    c.eval_steps = std::max<int64_t>(data.get_dataset_size(), 0);
    notify(callbacks, &Callback::on_eval_begin, c);
    dataset::RowIterator rows = data.create_dict_iterator();
    for (dataset::Row row; next_row(rows, row, c);) {
        c.eval_step++;
        notify(callbacks, &Callback::on_eval_step_begin, c);
        const auto [loss, outputs, label] = evaluate_row(row);
        for (auto &m : metrics_.all()) {
            m.metric->update(outputs, label);
            if (loss.defined()) m.metric->update_loss(loss);
        }
        if (loss.defined()) mean_loss.update_loss(loss);
        has_loss |= loss.defined();
        notify(callbacks, &Callback::on_eval_step_end, c);
    }
    if (!c.eval_step) throw AttrError("model", "the dataset has no row");
    for (auto &m : metrics_.all())
        c.eval_results[m.name] = m.metric->eval();
    if (in_fit && has_loss) c.eval_results["eval_loss"] = mean_loss.eval();
    notify(callbacks, &Callback::on_eval_end, c);
    c.mode = RunContext::Mode::train;
}

Tensor Model::predict(const Tensor &data) const {
    const ScopedMode mode(network_, false);
    const StopTape stop;
    return network_(data);
}

}  // namespace halyard
