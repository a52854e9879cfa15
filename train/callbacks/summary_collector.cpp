#include "train/callbacks/summary_collector.h"

#include <algorithm>
#include <regex>

#include "registry/base/error.h"

namespace halyard {
namespace {

constexpr size_t parameters_by_default = 5;

bool is_image(const Tensor &t) {
    const int64_t channels = t.defined() && t.rank() == 4 ? t.shape()[1] : 0;
    return (channels == 1 || channels == 3 || channels == 4) && t.elements() > 0;
}

std::regex regex_of(const std::string &text) {
    try {
        return std::regex(text);
    } catch (const std::regex_error &e) {
        throw AttrError("SummaryCollector", "histogram_regular is '" + text + "': " + e.what());
    }
}

using Rows = std::vector<std::pair<std::string, std::string>>;

std::string markdown(const Rows &rows) {
    std::string text = "| what | value |\n|---|---|\n";
    for (auto &[what, value] : rows)
        text += "| " + what + " | " + value + " |\n";
    return text;
}

}  // namespace

SummaryCollector::SummaryCollector(const std::string &summary_dir,
                                   const SummaryCollectorOptions &options)
    : options_(options), record_(summary_dir, {.max_file_size = options.max_file_size}) {
    if (options.collect_freq < 1) {
        throw AttrError("SummaryCollector", "collect_freq is " +
                                                std::to_string(options.collect_freq) +
                                                ", expected at least 1");
    }
    if (options.collect_specified_data.histogram_regular)
        regex_of(*options.collect_specified_data.histogram_regular);
}

void SummaryCollector::on_train_begin(RunContext &c) {
    const std::optional<std::string> &names = options_.collect_specified_data.histogram_regular;
    watched_.clear();
    for (const Parameter &p : c.network.get_parameters()) {
        if (names ? !names->empty() && std::regex_search(p.name(), regex_of(*names))
                  : options_.keep_default_action && watched_.size() < parameters_by_default)
            watched_.push_back(p);
    }
    lineage(c);
}

void SummaryCollector::lineage(const RunContext &c) {
    const bool train = wanted(options_.collect_specified_data.collect_train_lineage);
    if (train) {
        int64_t elements = 0;
        for (const Parameter &p : c.network.get_parameters())
            elements += p.shape().elements();
        Rows rows{{"epochs", std::to_string(c.epochs)},
                  {"steps per epoch", std::to_string(c.steps_per_epoch)},
                  {"parameters", std::to_string(elements)}};
        if (c.global_step) rows.emplace_back("goes on after step", std::to_string(c.global_step));
        record_.add_text("train_lineage/auto", markdown(rows));
    }
    if (!options_.custom_lineage_data.empty()) {
        record_.add_text("custom_lineage_data/auto",
                         markdown(Rows(options_.custom_lineage_data.begin(),
                                       options_.custom_lineage_data.end())));
    }
    if (train || !options_.custom_lineage_data.empty()) record_.record(c.global_step);
}

void SummaryCollector::on_train_epoch_begin(RunContext &c) {
    step_end_ = Clock::now();
    evaluating_ = {};
    step_before_ = c.step;
}

void SummaryCollector::on_train_step_begin(RunContext &c) {
    due_ = calls_ == 0 || (calls_ + 1) % options_.collect_freq == 0;
    calls_++;
    if (due_ && !watched_.empty() && wanted(options_.collect_specified_data.collect_gradients) &&
        c.optimizer) {
        c.optimizer->on_gradients(
            [kept = gradients_](const std::vector<Tensor> &all) { *kept = all; });
    }
}

void SummaryCollector::on_train_step_end(RunContext &c) {
    const auto end = Clock::now();
    const double steps = double(std::max<int64_t>(1, c.step - step_before_));
    const double took = std::chrono::duration<double>(end - step_end_ - evaluating_).count() /
                        steps;
    if (due_) collect(c, took);
    if (!gradients_->empty()) {
        c.optimizer->on_gradients({});
        gradients_->clear();
    }
    step_end_ = Clock::now();
    evaluating_ = {};
    step_before_ = c.step;
    last_step_ = c.global_step;
}

void SummaryCollector::collect(const RunContext &c, double step_seconds) {
    const SummaryCollectorOptions::Specified &what = options_.collect_specified_data;
    const auto scalar = [&](const std::string &name, double v) {
        record_.add_value("scalar", name + "/auto", Tensor::scalar(v));
    };
    if (wanted(what.collect_metric)) {
        scalar("loss", c.loss());
        scalar("learning_rate", c.learning_rate);
        scalar("step_seconds", step_seconds);
        scalar("data_seconds", c.data_seconds);
        scalar("queue_depth", double(c.queue_depth));
        if (step_seconds > 0)
            scalar(std::string(c.unit()) + "_per_second", double(c.batch_size) / step_seconds);
    }
    if (wanted(what.collect_input_data) && is_image(c.data))
        record_.add_value("image", "input_data/auto", c.data);
    for (const Parameter &p : watched_)
        record_.add_value("histogram", p.name() + "/auto", p.data());
    for (size_t i = 0; i < gradients_->size(); i++) {
        for (const Parameter &p : watched_) {
            if (p.same(c.optimizer->parameters()[i]))
                record_.add_value("histogram", p.name() + "/gradient", (*gradients_)[i]);
        }
    }
    record_.record(c.global_step);
}

void SummaryCollector::on_eval_begin(RunContext &) {
    eval_begin_ = Clock::now();
}

void SummaryCollector::on_eval_end(RunContext &c) {
    const SummaryCollectorOptions::Specified &what = options_.collect_specified_data;
    if (wanted(what.collect_metric)) {
        for (auto &[name, v] : c.eval_results)
            record_.add_value("scalar", name + "/eval", Tensor::scalar(v));
    }
    if (wanted(what.collect_eval_lineage))
        record_.add_text("eval_lineage/auto", markdown({{"steps", std::to_string(c.eval_step)}}));
    if (wanted(what.collect_metric) || wanted(what.collect_eval_lineage))
        record_.record(c.optimizer ? c.global_step : last_step_);
    evaluating_ += Clock::now() - eval_begin_;
}

void SummaryCollector::on_train_end(RunContext &) {
    record_.flush();
}

}  // namespace halyard
