// SummaryCollector: writes a training into an event file for TensorBoard. Options and tags are
// MindSpore's.
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
    // Collects the first step and every step (in sink mode: epoch) whose number this divides.
    int64_t collect_freq = 10;
    // An empty field means keep_default_action.
    struct Specified {
        // Loss, learning rate, times and queue depth; metrics of evaluations.
        std::optional<bool> collect_metric = {};
        // Images of the first column if it is [N,C,H,W] with 1, 3 or 4 channels.
        std::optional<bool> collect_input_data = {};
        // Sizes, optimiser and parameters, as a text.
        std::optional<bool> collect_train_lineage = {}, collect_eval_lineage = {};
        // Histograms of the parameters whose name matches this regular expression; if empty, of the
        // first five parameters. "" means none.
        std::optional<std::string> histogram_regular = {};
        // Histograms of the same parameters' gradients, as the optimiser gets them.
        std::optional<bool> collect_gradients = {};
    } collect_specified_data = {};
    bool keep_default_action = true;
    std::map<std::string, std::string> custom_lineage_data = {};  // becomes a text
    std::optional<int64_t> max_file_size = {};                    // as in SummaryRecordOptions
};

class SummaryCollector : public Callback {
public:
    // Throws AttrError for a collect_freq below 1 or a malformed regular expression, IoError.
    explicit SummaryCollector(const std::string &summary_dir,
                              const SummaryCollectorOptions &options = {});
    void on_train_begin(RunContext &c) override;
    void on_train_epoch_begin(RunContext &c) override;
    void on_train_step_begin(RunContext &c) override;
    void on_train_step_end(RunContext &c) override;
    void on_eval_begin(RunContext &c) override;
    void on_eval_end(RunContext &c) override;
    void on_train_end(RunContext &c) override;

    // Returns the record, to which a program may add values.
    SummaryRecord &record() { return record_; }

private:
    using Clock = std::chrono::steady_clock;
    bool wanted(const std::optional<bool> &specified) const {
        return specified.value_or(options_.keep_default_action);
    }
    void collect(const RunContext &c, double step_seconds);
    void lineage(const RunContext &c);
    SummaryCollectorOptions options_;
    SummaryRecord record_;
    std::vector<Parameter> watched_;  // parameters with histograms
    // The gradients of all parameters, which the optimiser sets in collected steps.
    std::shared_ptr<std::vector<Tensor>> gradients_ = std::make_shared<std::vector<Tensor>>();
    bool due_ = false;
    int64_t calls_ = 0, step_before_ = 0, last_step_ = 0;
    Clock::time_point step_end_, eval_begin_;
    Clock::duration evaluating_{};
};

}  // namespace halyard
