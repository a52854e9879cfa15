#include "train/metrics/roc.h"

#include <algorithm>
#include <numeric>

#include "registry/base/error.h"

namespace halyard {
namespace {

std::string shapes_of(const Tensor &outputs, const Tensor &label) {
    return "outputs are " + outputs.shape().text() + " and labels " + label.shape().text();
}

}  // namespace

void ROC::clear() {
    classes_ = 0;
    scores_.clear();
    labels_.clear();
}

void ROC::update(const Tensor &outputs, const Tensor &label) {
    const bool one_curve = outputs.shape() == label.shape();
    const bool one_per_class = outputs.rank() == 2 && label.rank() == 1 &&
                               outputs.shape()[0] == label.shape()[0];
    if (!one_curve && !one_per_class) {
        throw ShapeError("roc", shapes_of(outputs, label) +
                                    ", expected the same shape, or outputs [N,C] and labels [N]");
    }
    const int64_t classes = one_curve ? 1 : outputs.shape()[1];
    if (classes_ != 0 && classes != classes_) {
        throw ShapeError("roc", "outputs have C=" + std::to_string(classes) +
                                    " classes, before they had " + std::to_string(classes_));
    }
    classes_ = classes;
    const std::vector<double> scores = outputs.to_vector<double>();
    const std::vector<double> labels = label.to_vector<double>();
    scores_.insert(scores_.end(), scores.begin(), scores.end());
    labels_.insert(labels_.end(), labels.begin(), labels.end());
}

RocCurve ROC::curve(int64_t class_index) const {
    if (labels_.empty()) throw AttrError("roc", "no sample was given");
    if (class_index < 0 || class_index >= classes_) {
        throw AttrError("roc", "class_index is " + std::to_string(class_index) +
                                   ", expected 0 to C-1=" + std::to_string(classes_ - 1));
    }
    const double positive_label = classes_ == 1 ? double(pos_label_) : double(class_index);
    const auto score = [&](size_t sample) {
        return scores_[sample * size_t(classes_) + size_t(class_index)];
    };
    std::vector<size_t> order(labels_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return score(a) > score(b); });

    RocCurve curve{{0}, {0}, {score(order[0]) + 1}};
    double positives = 0;
    double negatives = 0;
    for (size_t i = 0; i < order.size(); i++) {
        if (labels_[order[i]] == positive_label)
            positives++;
        else
            negatives++;
        const bool last_of_its_score = i + 1 == order.size() ||
                                       score(order[i + 1]) != score(order[i]);
        if (!last_of_its_score) continue;
        curve.false_positive_rate.push_back(negatives);
        curve.true_positive_rate.push_back(positives);
        curve.thresholds.push_back(score(order[i]));
    }
    if (positives == 0) {
        throw AttrError("roc", "no label is " + std::to_string(int64_t(positive_label)) +
                                   ": there is no true positive rate");
    }
    if (negatives == 0) {
        throw AttrError("roc", "all labels are " + std::to_string(int64_t(positive_label)) +
                                   ": there is no false positive rate");
    }
    for (double &rate : curve.false_positive_rate)
        rate /= negatives;
    for (double &rate : curve.true_positive_rate)
        rate /= positives;
    return curve;
}

double ROC::eval() const {
    if (labels_.empty()) throw AttrError("roc", "no sample was given");
    double sum = 0;
    for (int64_t c = 0; c < classes_; c++) {
        const RocCurve points = curve(c);
        sum += auc(points.false_positive_rate, points.true_positive_rate);
    }
    return sum / double(classes_);
}

double auc(std::vector<double> x, std::vector<double> y, bool reorder) {
    if (x.size() != y.size()) {
        throw ShapeError("auc", "x has " + std::to_string(x.size()) + " points and y " +
                                    std::to_string(y.size()));
    }
    if (x.size() < 2) {
        throw ShapeError("auc",
                         "x has " + std::to_string(x.size()) + " points, expected at least 2");
    }
    if (reorder) {
        std::vector<std::pair<double, double>> points;
        for (size_t i = 0; i < x.size(); i++)
            points.emplace_back(x[i], y[i]);
        std::sort(points.begin(), points.end());
        for (size_t i = 0; i < x.size(); i++) {
            x[i] = points[i].first;
            y[i] = points[i].second;
        }
    }
    const bool rises = std::is_sorted(x.begin(), x.end());
    const bool falls = std::is_sorted(x.rbegin(), x.rend());
    if (!rises && !falls)
        throw AttrError("auc", "x neither rises nor falls; reorder sorts the points");
    double area = 0;
    for (size_t i = 1; i < x.size(); i++)
        area += (x[i] - x[i - 1]) * (y[i] + y[i - 1]) / 2;
    return rises ? area : -area;
}

}  // namespace halyard
