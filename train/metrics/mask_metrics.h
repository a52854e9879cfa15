// Metrics of segmentations: masks, and the distances between their edges. Names and values are
// MindSpore's.
#pragma once
#include <array>
#include <string>
#include <vector>

#include "train/metrics/metrics.h"

namespace halyard {

// 2 <outputs, label> / (<outputs, outputs> + <label, label> + smooth), added up over the updates
// and divided by the samples.
class Dice : public Metric {
public:
    explicit Dice(double smooth = 1e-5);  // throws AttrError unless smooth is more than 0
    void clear() override;
    void update(const Tensor &outputs, const Tensor &label) override;  // of the same shape
    double eval() const override;

private:
    double smooth_;
    double sum_ = 0;
    int64_t samples_ = 0;
};

// A number made of the true and false positives and negatives of masks [N,C,...] of 0 and 1, added
// up over all samples and channels. Names: tpr (sensitivity, recall, hit_rate), tnr (specificity,
// selectivity), ppv (precision), npv, fnr (miss_rate), fpr (fall_out), fdr, for, pt
// (prevalence_threshold), ts (threat_score), acc (accuracy), ba (balanced_accuracy), f1 (f1_score),
// mcc, fm, bm (informedness), mk (markedness), and their names in full. The definitions:
// https://en.wikipedia.org/wiki/Confusion_matrix.
class ConfusionMatrixMetric : public Metric {
public:
    // Without skip_channel the first of several channels, the background, does not count. Throws
    // AttrError for an unknown name.
    explicit ConfusionMatrixMetric(bool skip_channel = true,
                                   const std::string &metric_name = "sensitivity");
    void clear() override { counts_ = {}; }
    // of the same shape, of rank 2 or more
    void update(const Tensor &outputs, const Tensor &label) override;
    // NaN where nothing that the number divides by was counted
    double eval() const override;

private:
    bool skip_channel_;
    std::string name_;  // the short one
    struct Counts {
        double true_positive = 0;
        double false_positive = 0;
        double true_negative = 0;
        double false_negative = 0;
    } counts_;
};

// The points of a mask of rank 1 to 3 that have a neighbour, along an axis, that is not of it, or
// lie at the border.
using EdgePoints = std::vector<std::array<int64_t, 3>>;

// What the metrics of edges share: the edges of one label in the outputs and in the labels of the
// last update.
class EdgeMetric {
public:
    void clear();
    // Both of the same shape, of rank 1 to 3. Throws ShapeError for other shapes, and where neither
    // has the label.
    void update(const Tensor &outputs, const Tensor &label, double label_index);

protected:
    // "euclidean", "chessboard" or "taxicab"
    EdgeMetric(const char *metric, const std::string &distance_metric);
    // From each edge point of one the distance to the nearest of the other; infinite where the
    // other has none. Throws AttrError before any update().
    std::vector<double> from_outputs() const { return distances(outputs_, label_); }
    std::vector<double> from_label() const { return distances(label_, outputs_); }

private:
    std::vector<double> distances(const EdgePoints &from, const EdgePoints &to) const;

    const char *metric_;
    std::string distance_metric_;
    bool updated_ = false;
    EdgePoints outputs_;
    EdgePoints label_;
};

// The largest distance from an edge point of the outputs to the edge of the labels, or the
// percentile of them all; the larger one of this and its reverse unless directed.
class HausdorffDistance : public EdgeMetric {
public:
    // percentile: 0 to 100, 0 means the largest. Throws AttrError for others.
    explicit HausdorffDistance(const std::string &distance_metric = "euclidean",
                               double percentile = 0, bool directed = false);
    double eval() const;

private:
    double of(const std::vector<double> &distances) const;

    double percentile_;
    bool directed_;
};

// The mean of those distances; with `symmetric` the mean of this and its reverse.
class MeanSurfaceDistance : public EdgeMetric {
public:
    explicit MeanSurfaceDistance(bool symmetric = false,
                                 const std::string &distance_metric = "euclidean");
    double eval() const;

private:
    bool symmetric_;
};

// The root of the mean of both directions' means of squares with `symmetric`. Without, MindSpore
// takes no root of the one mean of squares, and neither does this.
class RootMeanSquareDistance : public EdgeMetric {
public:
    explicit RootMeanSquareDistance(bool symmetric = false,
                                    const std::string &distance_metric = "euclidean");
    double eval() const;

private:
    bool symmetric_;
};

}  // namespace halyard
