#include "train/metrics/mask_metrics.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <numeric>

#include "registry/base/error.h"

namespace halyard {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

void check_same_shape(const char *metric, const Tensor &outputs, const Tensor &label) {
    if (outputs.shape() == label.shape()) return;
    throw ShapeError(metric, "outputs are " + outputs.shape().text() + " and labels " +
                                 label.shape().text() + ", expected the same shape");
}

double dot(const std::vector<double> &a, const std::vector<double> &b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

// Maps every name of a number derived from a confusion matrix to its short name.
const std::map<std::string, std::string> &short_names() {
    static const std::map<std::string, std::string> names = {
        {"sensitivity", "tpr"},
        {"recall", "tpr"},
        {"hit_rate", "tpr"},
        {"true_positive_rate", "tpr"},
        {"specificity", "tnr"},
        {"selectivity", "tnr"},
        {"true_negative_rate", "tnr"},
        {"precision", "ppv"},
        {"positive_predictive_value", "ppv"},
        {"negative_predictive_value", "npv"},
        {"miss_rate", "fnr"},
        {"false_negative_rate", "fnr"},
        {"fall_out", "fpr"},
        {"false_positive_rate", "fpr"},
        {"false_discovery_rate", "fdr"},
        {"false_omission_rate", "for"},
        {"prevalence_threshold", "pt"},
        {"threat_score", "ts"},
        {"critical_success_index", "ts"},
        {"csi", "ts"},
        {"accuracy", "acc"},
        {"balanced_accuracy", "ba"},
        {"f1_score", "f1"},
        {"matthews_correlation_coefficient", "mcc"},
        {"fowlkes_mallows_index", "fm"},
        {"informedness", "bm"},
        {"bookmaker_informedness", "bm"},
        {"markedness", "mk"},
        {"deltap", "mk"},
    };
    return names;
}

// Normalises a name: "Hit Rate" becomes "hit_rate". Throws AttrError for an unknown name.
std::string short_name(const std::string &asked) {
    std::string name;
    for (const char c : asked)
        name += c == ' ' ? '_' : char(std::tolower((unsigned char)c));
    const auto known = short_names().find(name);
    if (known != short_names().end()) return known->second;
    std::string expected;
    for (const auto &[full, brief] : short_names()) {
        if (name == brief) return name;
        expected += (expected.empty() ? "" : ", ") + full;
    }
    throw AttrError("confusion_matrix_metric",
                    "metric_name is " + asked + ", expected one of " + expected);
}

// Returns the edge points of a mask padded to three axes. Positions beyond its borders count as
// outside.
EdgePoints edge_of(const std::vector<bool> &mask, const std::array<int64_t, 3> &extent, int rank) {
    const auto inside = [&](int64_t a, int64_t b, int64_t c) {
        if (a < 0 || b < 0 || c < 0 || a >= extent[0] || b >= extent[1] || c >= extent[2])
            return false;
        return bool(mask[size_t((a * extent[1] + b) * extent[2] + c)]);
    };
    EdgePoints edge;
    for (int64_t a = 0; a < extent[0]; a++) {
        for (int64_t b = 0; b < extent[1]; b++) {
            for (int64_t c = 0; c < extent[2]; c++) {
                if (!inside(a, b, c)) continue;
                const bool surrounded = inside(a - 1, b, c) && inside(a + 1, b, c) &&
                                        (rank < 2 ||
                                         (inside(a, b - 1, c) && inside(a, b + 1, c))) &&
                                        (rank < 3 || (inside(a, b, c - 1) && inside(a, b, c + 1)));
                if (!surrounded) edge.push_back({a, b, c});
            }
        }
    }
    return edge;
}

double distance_between(const std::string &metric, const std::array<int64_t, 3> &a,
                        const std::array<int64_t, 3> &b) {
    double squares = 0;
    double sum = 0;
    double max_difference = 0;
    for (size_t axis = 0; axis < 3; axis++) {
        const auto difference = double(std::llabs(a[axis] - b[axis]));
        squares += difference * difference;
        sum += difference;
        max_difference = std::max(max_difference, difference);
    }
    if (metric == "taxicab") return sum;
    return metric == "chessboard" ? max_difference : std::sqrt(squares);
}

double mean_or_infinity(const std::vector<double> &values) {
    if (values.empty()) return infinity;
    return std::accumulate(values.begin(), values.end(), 0.0) / double(values.size());
}

double mean_square(const std::vector<double> &values) {
    if (values.empty()) return infinity;
    return dot(values, values) / double(values.size());
}

}  // namespace

Dice::Dice(double smooth) : smooth_(smooth) {
    if (!(smooth > 0))
        throw AttrError("dice", "smooth is " + std::to_string(smooth) + ", expected more than 0");
}

void Dice::clear() {
    sum_ = 0;
    samples_ = 0;
}

void Dice::update(const Tensor &outputs, const Tensor &label) {
    check_same_shape("dice", outputs, label);
    const std::vector<double> y = outputs.to_vector<double>();
    const std::vector<double> t = label.to_vector<double>();
    sum_ += 2 * dot(y, t) / (dot(y, y) + dot(t, t) + smooth_);
    samples_ += label.rank() ? label.shape()[0] : 1;
}

double Dice::eval() const {
    if (samples_ == 0) throw AttrError("dice", "no sample was given");
    return sum_ / double(samples_);
}

ConfusionMatrixMetric::ConfusionMatrixMetric(bool skip_channel, const std::string &metric_name)
    : skip_channel_(skip_channel), name_(short_name(metric_name)) {}

void ConfusionMatrixMetric::update(const Tensor &outputs, const Tensor &label) {
    check_same_shape("confusion_matrix_metric", outputs, label);
    if (outputs.rank() < 2) {
        throw ShapeError("confusion_matrix_metric",
                         "rank is " + std::to_string(outputs.rank()) +
                             ", expected at least 2: " + outputs.shape().text());
    }
    const std::vector<double> y = outputs.to_vector<double>();
    const std::vector<double> t = label.to_vector<double>();
    const int64_t channels = outputs.shape()[1];
    const int64_t per_channel =
        channels ? outputs.elements() / std::max<int64_t>(1, outputs.shape()[0]) / channels : 0;
    const int64_t first_channel = !skip_channel_ && channels > 1 ? 1 : 0;
    auto counts = counts_;  // so that a batch is counted whole or not at all
    for (size_t i = 0; i < y.size(); i++) {
        if (int64_t(i) / per_channel % channels < first_channel) continue;
        for (const double value : {y[i], t[i]}) {
            if (value != 0 && value != 1) {
                throw ShapeError("confusion_matrix_metric",
                                 "a value is " + std::to_string(value) + ", expected 0 or 1");
            }
        }
        if (t[i] == 1)
            (y[i] == 1 ? counts.true_positive : counts.false_negative)++;
        else
            (y[i] == 1 ? counts.false_positive : counts.true_negative)++;
    }
    counts_ = counts;
}

double ConfusionMatrixMetric::eval() const {
    const auto [tp, fp, tn, fn] = counts_;
    const double positive = tp + fn;
    const double negative = fp + tn;
    if (positive + negative == 0) throw AttrError("confusion_matrix_metric", "no sample was given");
    const auto over = [](double a, double b) { return b != 0 ? a / b : std::nan(""); };
    const double tpr = over(tp, positive);
    const double tnr = over(tn, negative);
    const double ppv = over(tp, tp + fp);
    const double npv = over(tn, tn + fn);
    const std::map<std::string, double> values = {
        {"tpr", tpr},
        {"tnr", tnr},
        {"ppv", ppv},
        {"npv", npv},
        {"fnr", over(fn, positive)},
        {"fpr", over(fp, negative)},
        {"fdr", over(fp, fp + tp)},
        {"for", over(fn, fn + tn)},
        {"pt", over(std::sqrt(tpr * (1 - tnr)) + tnr - 1, tpr + tnr - 1)},
        {"ts", over(tp, tp + fn + fp)},
        {"acc", over(tp + tn, positive + negative)},
        {"ba", (tpr + tnr) / 2},
        {"f1", over(2 * tp, 2 * tp + fn + fp)},
        {"mcc", over(tp * tn - fp * fn, std::sqrt((tp + fp) * positive * negative * (tn + fn)))},
        {"fm", std::sqrt(ppv * tpr)},
        {"bm", tpr + tnr - 1},
        {"mk", ppv + npv - 1},
    };
    return values.at(name_);
}

EdgeMetric::EdgeMetric(const char *metric, const std::string &distance_metric)
    : metric_(metric), distance_metric_(distance_metric) {
    for (const char *known : {"euclidean", "chessboard", "taxicab"}) {
        if (distance_metric == known) return;
    }
    throw AttrError(metric, "distance_metric is " + distance_metric +
                                ", expected euclidean, chessboard or taxicab");
}

void EdgeMetric::clear() {
    updated_ = false;
    outputs_.clear();
    label_.clear();
}

void EdgeMetric::update(const Tensor &outputs, const Tensor &label, double label_index) {
    check_same_shape(metric_, outputs, label);
    if (outputs.rank() < 1 || outputs.rank() > 3) {
        throw ShapeError(metric_, "rank is " + std::to_string(outputs.rank()) +
                                      ", expected 1 to 3: " + outputs.shape().text());
    }
    std::array<int64_t, 3> extent = {1, 1, 1};
    for (int axis = 0; axis < outputs.rank(); axis++)
        extent[size_t(axis)] = outputs.shape()[axis];
    const auto mask_of = [&](const Tensor &t) {
        std::vector<bool> mask;
        for (const double value : t.to_vector<double>())
            mask.push_back(value == label_index);
        return mask;
    };
    const std::vector<bool> in_outputs = mask_of(outputs);
    const std::vector<bool> in_label = mask_of(label);
    const auto any = [](const std::vector<bool> &mask) {
        return std::find(mask.begin(), mask.end(), true) != mask.end();
    };
    if (!any(in_outputs) && !any(in_label)) {
        throw ShapeError(metric_, "label_index is " + std::to_string(label_index) +
                                      ", which neither outputs nor labels have");
    }
    outputs_ = edge_of(in_outputs, extent, outputs.rank());
    label_ = edge_of(in_label, extent, outputs.rank());
    updated_ = true;
}

std::vector<double> EdgeMetric::distances(const EdgePoints &from, const EdgePoints &to) const {
    if (!updated_) throw AttrError(metric_, "no sample was given");
    std::vector<double> nearest;
    for (const auto &point : from) {
        double least = infinity;
        for (const auto &other : to)
            least = std::min(least, distance_between(distance_metric_, point, other));
        nearest.push_back(least);
    }
    return nearest;
}

HausdorffDistance::HausdorffDistance(const std::string &distance_metric, double percentile,
                                     bool directed)
    : EdgeMetric("hausdorff_distance", distance_metric), percentile_(percentile),
      directed_(directed) {
    if (!(percentile >= 0 && percentile <= 100)) {
        throw AttrError("hausdorff_distance",
                        "percentile is " + std::to_string(percentile) + ", expected 0 to 100");
    }
}

double HausdorffDistance::of(const std::vector<double> &distances) const {
    if (distances.empty()) return infinity;
    std::vector<double> sorted = distances;
    std::sort(sorted.begin(), sorted.end());
    if (percentile_ == 0) return sorted.back();
    const double position = percentile_ / 100 * double(sorted.size() - 1);
    const auto below = size_t(position);
    const size_t above = std::min(below + 1, sorted.size() - 1);
    const double weight = position - double(below);
    return weight == 0 ? sorted[below] : sorted[below] + weight * (sorted[above] - sorted[below]);
}

double HausdorffDistance::eval() const {
    const double there = of(from_outputs());
    return directed_ ? there : std::max(there, of(from_label()));
}

MeanSurfaceDistance::MeanSurfaceDistance(bool symmetric, const std::string &distance_metric)
    : EdgeMetric("mean_surface_distance", distance_metric), symmetric_(symmetric) {}

double MeanSurfaceDistance::eval() const {
    const double there = mean_or_infinity(from_outputs());
    return symmetric_ ? (there + mean_or_infinity(from_label())) / 2 : there;
}

RootMeanSquareDistance::RootMeanSquareDistance(bool symmetric, const std::string &distance_metric)
    : EdgeMetric("root_mean_square_distance", distance_metric), symmetric_(symmetric) {}

double RootMeanSquareDistance::eval() const {
    const double there = mean_square(from_outputs());
    return symmetric_ ? std::sqrt((there + mean_square(from_label())) / 2) : there;
}

}  // namespace halyard
