// Losses. With reduction "none" a loss has a value for each element or row; with "mean" and "sum"
// it is a scalar. The formulas stand in the reference pages of the ops of the same names.
// Constructors throw AttrError for wrong options; calls throw ShapeError and DTypeError.
#pragma once
#include <functional>
#include <string>

#include "nn/cell.h"
#include "primitives/ops/losses.h"

namespace halyard::nn {

// The base of user-defined losses, whose construct() returns get_loss(loss of each element).
class LossBase : public Cell {
public:
    // Throws AttrError unless `reduction` is "none", "mean" or "sum".
    explicit LossBase(const F::Reduction &reduction = F::Reduction::mean);

protected:
    // Returns x * weights, reduced.
    Tensor get_loss(const Tensor &x, const Argument &weights = 1.0) const;

private:
    F::Reduction reduction_;
};

// A loss that is a function of a fixed number of tensors.
class Loss : public LossBase {
public:
    std::vector<Tensor> construct(Tensors in) const override;

protected:
    Loss(const F::Reduction &reduction, size_t inputs, std::function<Tensor(Tensors)> f);

private:
    size_t inputs_;
    std::function<Tensor(Tensors)> f_;
};

// Computes softmax and cross entropy over the last dimension of logits[n,c]. With `sparse` labels
// are i32[n], each in [0, c); otherwise labels[n,c] are the probabilities of the classes.
struct SoftmaxCrossEntropyWithLogits : Loss {
    explicit SoftmaxCrossEntropyWithLogits(bool sparse = false,
                                           const F::Reduction &reduction = F::Reduction::none);
};

struct CrossEntropyLossOptions {
    Tensor weight = {};  // [c], a weight for each class; undefined means ones
    int64_t ignore_index = -100;
    // "mean" divides by the sum of the labels' weights.
    F::Reduction reduction = F::Reduction::mean;
    double label_smoothing = 0;
};
// Takes logits[n,c,...] and either labels:i32[n,...], where a label of ignore_index adds no loss,
// or labels of the shape of logits, the probabilities of the classes.
struct CrossEntropyLoss : Loss {
    explicit CrossEntropyLoss(const CrossEntropyLossOptions &options = {});
};

// Takes logarithms of probabilities[n,c,...] and labels:i32[n,...].
struct NLLLoss : Loss {
    explicit NLLLoss(const Tensor &weight = {}, int64_t ignore_index = -100,
                     const F::Reduction &reduction = F::Reduction::mean);
};

// Takes probabilities and labels of one shape. `weight` broadcasts to them; undefined means ones.
// Logarithms below -100 count as -100.
struct BCELoss : Loss {
    explicit BCELoss(const Tensor &weight = {}, const F::Reduction &reduction = F::Reduction::mean);
};
// Takes logits and labels of one shape. pos_weight multiplies the terms of positive labels.
struct BCEWithLogitsLoss : Loss {
    explicit BCEWithLogitsLoss(const F::Reduction &reduction = F::Reduction::mean,
                               const Tensor &weight = {}, const Tensor &pos_weight = {});
};
// The next losses take logits and labels of one shape.
struct MSELoss : Loss {
    explicit MSELoss(const F::Reduction &reduction = F::Reduction::mean);
};
// The square root of the mean squared error.
struct RMSELoss : Loss {
    RMSELoss();
};
struct L1Loss : Loss {
    explicit L1Loss(const F::Reduction &reduction = F::Reduction::mean);
};
// The same as L1Loss.
struct MAELoss : Loss {
    explicit MAELoss(const F::Reduction &reduction = F::Reduction::mean);
};
struct SmoothL1Loss : Loss {
    explicit SmoothL1Loss(double beta = 1, const F::Reduction &reduction = F::Reduction::none);
};
struct HuberLoss : Loss {
    explicit HuberLoss(const F::Reduction &reduction = F::Reduction::mean, double delta = 1);
};
struct SoftMarginLoss : Loss {
    explicit SoftMarginLoss(const F::Reduction &reduction = F::Reduction::mean);
};
struct HingeEmbeddingLoss : Loss {
    explicit HingeEmbeddingLoss(double margin = 1,
                                const F::Reduction &reduction = F::Reduction::mean);
};
// Takes logarithms of rates.
struct PoissonNLLLoss : Loss {
    explicit PoissonNLLLoss(const F::Reduction &reduction = F::Reduction::mean);
};
// "batchmean" divides the sum by the first extent.
struct KLDivLoss : Loss {
    explicit KLDivLoss(const F::KlDivReduction &reduction = F::KlDivReduction::mean);
};

// Takes logits, labels and variances.
struct GaussianNLLLoss : Loss {
    explicit GaussianNLLLoss(bool full = false, double eps = 1e-6,
                             const F::Reduction &reduction = F::Reduction::mean);
};
// Takes x1, x2 and a target of 1 or -1.
struct MarginRankingLoss : Loss {
    explicit MarginRankingLoss(double margin = 0,
                               const F::Reduction &reduction = F::Reduction::mean);
};
// Takes x1, x2 and a target of 1 or -1.
struct CosineEmbeddingLoss : Loss {
    explicit CosineEmbeddingLoss(double margin = 0,
                                 const F::Reduction &reduction = F::Reduction::mean);
};
// Takes an anchor, a positive and a negative example.
struct TripletMarginLoss : Loss {
    explicit TripletMarginLoss(bool swap = false, double eps = 1e-6,
                               const F::Reduction &reduction = F::Reduction::mean,
                               double margin = 1);
};

// Takes log_probs[t,n,c], targets:i32[n,s], input_lengths:i32[n] and target_lengths:i32[n].
struct CTCLoss : Loss {
    explicit CTCLoss(int64_t blank = 0, const F::Reduction &reduction = F::Reduction::mean,
                     bool zero_infinity = false);
};

}  // namespace halyard::nn
