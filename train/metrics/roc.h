// The receiver operating characteristic of a classifier, and the area under it. Names and values
// are MindSpore's.
//
//   ROC roc;
//   roc.update(scores, labels);
//   const RocCurve curve = roc.curve();
//   const double area = auc(curve.false_positive_rate, curve.true_positive_rate);
#pragma once
#include <vector>

#include "train/metrics/metrics.h"

namespace halyard {

// Point i: the rates among samples whose score is at least thresholds[i]. The first point is (0,
// 0).
struct RocCurve {
    std::vector<double> false_positive_rate;
    std::vector<double> true_positive_rate;
    std::vector<double> thresholds;  // falling
};

// Scores of all updates together. Either outputs and labels have the same shape and samples
// labelled `pos_label` are the positive ones; or outputs are [N,C] and labels N class numbers, and
// each class has a curve of its own against the others.
class ROC : public Metric {
public:
    explicit ROC(int64_t pos_label = 1) : pos_label_(pos_label) {}
    void clear() override;
    // Throws ShapeError where the shapes fit neither form, or another number of classes than
    // before.
    void update(const Tensor &outputs, const Tensor &label) override;
    // throws AttrError where a class has no positive or no negative sample
    RocCurve curve(int64_t class_index = 0) const;
    int64_t classes() const { return classes_; }  // 1 for the first form
    // the mean over the classes of the area under the curve
    double eval() const override;

private:
    int64_t pos_label_;
    int64_t classes_ = 0;
    std::vector<double> scores_;  // row by row
    std::vector<double> labels_;
};

// The area under the points (x, y) by the trapezoidal rule. Throws ShapeError for fewer than two
// points or lists of different lengths, AttrError where x neither rises nor falls; with `reorder`
// points are sorted by x, then y, first.
double auc(std::vector<double> x, std::vector<double> y, bool reorder = false);

}  // namespace halyard
