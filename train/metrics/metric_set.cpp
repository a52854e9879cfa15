#include "train/metrics/metric_set.h"

#include <map>

#include "registry/base/error.h"
#include "train/metrics/mask_metrics.h"
#include "train/metrics/roc.h"
#include "train/metrics/text_metrics.h"

namespace halyard {
namespace {

template<class T> std::shared_ptr<Metric> make() {
    return std::make_shared<T>();
}

}  // namespace

Metrics::Named::Named(const char *known_name) : name(known_name) {
    using Maker = std::shared_ptr<Metric> (*)();
    static const std::map<std::string, Maker> makers = {
        {"F1", make<F1>},
        {"acc", make<Accuracy>},
        {"accuracy", make<Accuracy>},
        {"confusion_matrix_metric", make<ConfusionMatrixMetric>},
        {"dice", make<Dice>},
        {"loss", make<Loss>},
        {"mae", make<MAE>},
        {"mse", make<MSE>},
        {"perplexity", make<Perplexity>},
        {"precision", make<Precision>},
        {"recall", make<Recall>},
        {"roc", make<ROC>},
        {"top_1_accuracy", make<Top1CategoricalAccuracy>},
        {"top_5_accuracy", make<Top5CategoricalAccuracy>},
    };
    const auto known = makers.find(name);
    if (known != makers.end()) {
        metric = known->second();
        return;
    }
    std::string expected;
    for (const auto &[each, maker] : makers)
        expected += (expected.empty() ? "" : ", ") + each;
    throw AttrError("model", "metric is " + name + ", expected one of " + expected);
}

Metrics::Metrics(std::initializer_list<Named> all) : all_(all) {
    for (size_t i = 0; i < all_.size(); i++) {
        for (size_t k = 0; k < i; k++) {
            if (all_[k].name == all_[i].name)
                throw AttrError("model", "two metrics are called " + all_[i].name);
        }
    }
}

}  // namespace halyard
