// The metrics of a Model, by name.
#pragma once
#include <concepts>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "train/metrics/metrics.h"

namespace halyard {

// Metrics by name: {"accuracy", "loss"}, or {{"top5", Top5CategoricalAccuracy()}}. Known names are
// accuracy, acc, confusion_matrix_metric, dice, F1, loss, mae, mse, perplexity, precision, recall,
// roc, top_1_accuracy and top_5_accuracy. Other names throw AttrError.
class Metrics {
public:
    class Named {
    public:
        Named(const char *known_name);
        template<std::derived_from<Metric> T> Named(const std::string &n, T metric)
            : name(n), metric(std::make_shared<T>(std::move(metric))) {}
        std::string name;
        std::shared_ptr<Metric> metric;
    };
    Metrics() = default;
    Metrics(std::initializer_list<Named> all);  // throws AttrError for a name given twice
    const std::vector<Named> &all() const { return all_; }

private:
    std::vector<Named> all_;
};

}  // namespace halyard
