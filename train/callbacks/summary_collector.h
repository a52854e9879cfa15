// SummaryCollector: what a training is doing, into an event file for TensorBoard. Options and tags
// are MindSpore's.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "train/callbacks/callback.h"
#include "train/callbacks/summary_record.h"

namespace halyard {

struct SummaryCollectorOptions {
    // steps (in sink mode epochs) whose number it divides, and the first one always
    int64_t collect_freq = 10;
    // What isn't said is collected, or with keep_default_action off isn't.
    struct Specified {
        // loss, learning rate, times, queue depth; metrics of evaluations
        std::optional<bool> collect_metric = {};
        // images of the first column, where that is [N,C,H,W] with 1, 3 or 4 channels
        std::optional<bool> collect_input_data = {};
        // Sizes, optimiser and parameters, as a text.
        std::optional<bool> collect_train_lineage = {}, collect_eval_lineage = {};
        // Histograms of the parameters whose name has a match of this regular expression; without
        // one of the first five. "" is none.
        std::optional<std::string> histogram_regular = {};
        // histograms of the same parameters' gradients, as the optimiser gets them
        std::optional<bool> collect_gradients = {};
    } collect_specified_data = {};
    bool keep_default_action = true;
    std::map<std::string, std::string> custom_lineage_data = {};  // a text of its own
    std::optional<int64_t> max_file_size = {};                    // as SummaryRecord's
};

class SummaryCollector : public Callback {
public:
    // Throws AttrError for a collect_freq below 1 or a bad regular expression, IoError.
    explicit SummaryCollector(const std::string &summary_dir,
                              const SummaryCollectorOptions &options = {});
    void on_train_begin(RunContext &c) override;
    void on_train_epoch_begin(RunContext &c) override;
    void on_train_step_begin(RunContext &c) override;
    void on_train_step_end(RunContext &c) override;
    void on_eval_begin(RunContext &c) override;
    void on_eval_end(RunContext &c) override;
    void on_train_end(RunContext &c) override;

    SummaryRecord &record() { return record_; }  // for values of one's own

private:
    using Clock = std::chrono::steady_clock;
    bool wanted(const std::optional<bool> &specified) const {
        return specified.value_or(options_.keep_default_action);
    }
    void collect(const RunContext &c, double step_seconds);
    void lineage(const RunContext &c);
    SummaryCollectorOptions options_;
    SummaryRecord record_;
    std::vector<Parameter> watched_;  // for histograms
    // Filled by the optimiser in the steps that are collected: of all its parameters.
    std::shared_ptr<std::vector<Tensor>> gradients_ = std::make_shared<std::vector<Tensor>>();
    bool due_ = false;
    int64_t calls_ = 0, step_before_ = 0, last_step_ = 0;
    Clock::time_point step_end_, eval_begin_;
    Clock::duration evaluating_{};
};

}  // namespace halyard
