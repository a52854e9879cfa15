// Metrics of segmentations: overlaps of masks and distances between their edges. Names and values
// are MindSpore's.
#pragma once
#include <array>
#include <string>
#include <vector>

#include "train/metrics/metrics.h"

namespace halyard {

// The sum over the updates of 2 <outputs, label> / (<outputs, outputs> + <label, label> + smooth),
// divided by the number of samples.
class Dice : public Metric {
public:
    explicit Dice(double smooth = 1e-5);  // throws AttrError unless smooth > 0
    void clear() override;
    // Outputs and labels must have the same shape.
    void update(const Tensor &outputs, const Tensor &label) override;
    double eval() const override;

private:
    double smooth_;
    double sum_ = 0;
    int64_t samples_ = 0;
};

// A number derived from the true and false positives and negatives of masks [N,C,...] of 0 and 1,
// summed over all samples and channels. Names are tpr (sensitivity, recall, hit_rate), tnr
// (specificity, selectivity), ppv (precision), npv, fnr (miss_rate), fpr (fall_out), fdr, for, pt
// (prevalence_threshold), ts (threat_score), acc (accuracy), ba (balanced_accuracy), f1 (f1_score),
// mcc, fm, bm (informedness), mk (markedness), and the names in full
// (https://en.wikipedia.org/wiki/Confusion_matrix).
class ConfusionMatrixMetric : public Metric {
public:
    // As in MindSpore, all channels are counted with skip_channel. Without it the first of several,
    // the background, is not. Throws AttrError for an unknown name.
    explicit ConfusionMatrixMetric(bool skip_channel = true,
                                   const std::string &metric_name = "sensitivity");
    void clear() override { counts_ = {}; }
    // Outputs and labels must have the same shape of rank 2 or more. Throws ShapeError for values
    // other than 0 and 1. Then nothing of the batch is counted.
    void update(const Tensor &outputs, const Tensor &label) override;
    // Returns NaN if the divisor is 0.
    double eval() const override;

private:
    bool skip_channel_;
    std::string name_;  // in the short form
    struct Counts {
        double true_positive = 0;
        double false_positive = 0;
        double true_negative = 0;
        double false_negative = 0;
    } counts_;
};

// The edge points of a mask of rank 1 to 3: points at the border, or with a neighbour along an axis
// that is outside the mask.
using EdgePoints = std::vector<std::array<int64_t, 3>>;

// The base of metrics of edges. It holds the edges of one label in the outputs and in the labels of
// the last update.
class EdgeMetric {
public:
    void clear();
    // Outputs and labels must have the same shape of rank 1 to 3. Throws ShapeError otherwise, and
    // if neither contains the label.
    void update(const Tensor &outputs, const Tensor &label, double label_index);

protected:
    // distance_metric is "euclidean", "chessboard" or "taxicab". Throws AttrError for others.
    EdgeMetric(const char *metric, const std::string &distance_metric);
    // Both return for each edge point of one the distance to the nearest edge point of the other,
    // or infinity if the other has none. Throw AttrError before any update().
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

// The largest distance, or a percentile of the distances, from the edge points of the outputs to
// the edge of the labels. Unless `directed`, the larger of this and the reverse.
class HausdorffDistance : public EdgeMetric {
public:
    // The percentile is 0 to 100; 0 means the largest. Throws AttrError for others.
    explicit HausdorffDistance(const std::string &distance_metric = "euclidean",
                               double percentile = 0, bool directed = false);
    double eval() const;

private:
    double of(const std::vector<double> &distances) const;

    double percentile_;
    bool directed_;
};

// The mean of these distances. With `symmetric`, the mean over both directions.
class MeanSurfaceDistance : public EdgeMetric {
public:
    explicit MeanSurfaceDistance(bool symmetric = false,
                                 const std::string &distance_metric = "euclidean");
    double eval() const;

private:
    bool symmetric_;
};

// With `symmetric`, the square root of the mean squared distance over both directions. Without, the
// mean squared distance of one direction: MindSpore takes no root there.
class RootMeanSquareDistance : public EdgeMetric {
public:
    explicit RootMeanSquareDistance(bool symmetric = false,
                                    const std::string &distance_metric = "euclidean");
    double eval() const;

private:
    bool symmetric_;
};

}  // namespace halyard
