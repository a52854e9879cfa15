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

// Point i has the rates when samples with a score of at least thresholds[i] count as positive. The
// first point is (0, 0).
struct RocCurve {
    std::vector<double> false_positive_rate;
    std::vector<double> true_positive_rate;
    std::vector<double> thresholds;  // in descending order
};

// Collects the scores of all updates. Either outputs and labels have the same shape and pos_label
// marks the positive samples, or outputs are [N,C] and labels N class numbers; then each class has
// a curve of its own against the others.
class ROC : public Metric {
public:
    explicit ROC(int64_t pos_label = 1) : pos_label_(pos_label) {}
    void clear() override;
    // Throws ShapeError if the shapes fit neither form or the number of classes changes.
    void update(const Tensor &outputs, const Tensor &label) override;
    // Throws AttrError if the class has no positive or no negative sample.
    RocCurve curve(int64_t class_index = 0) const;
    // Returns the number of classes; 1 for the first form.
    int64_t classes() const { return classes_; }
    // Returns the area under the curve, averaged over the classes.
    double eval() const override;

private:
    int64_t pos_label_;
    int64_t classes_ = 0;
    std::vector<double> scores_;  // row by row
    std::vector<double> labels_;
};

// Returns the area under the points (x, y) by the trapezoidal rule. With `reorder` the points are
// sorted by x, then y. Throws ShapeError for fewer than two points or lists of different lengths,
// AttrError unless x is monotonic.
double auc(std::vector<double> x, std::vector<double> y, bool reorder = false);

}  // namespace halyard
