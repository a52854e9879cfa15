// Losses. reduction "none" gives the loss of each element (or row), "mean" and "sum" a scalar.
// Formulas stand in the pages of the ops of the same names. Each throws AttrError, ShapeError,
// DTypeError.
#pragma once
#include <functional>
#include <string>

#include "nn/cell.h"
#include "primitives/primitive.h"

namespace halyard::nn {

// For losses of one's own: what construct() returns is get_loss() of the loss of each element.
class LossBase : public Cell {
public:
    // throws AttrError unless it is none, mean or sum
    explicit LossBase(const std::string &reduction = "mean");

protected:
    Tensor get_loss(const Tensor &x, const Argument &weights = 1.0) const;  // x * weights, reduced

private:
    std::string reduction_;
};

// A function of as many tensors as its class says.
class Loss : public LossBase {
public:
    std::vector<Tensor> construct(Tensors in) const override;

protected:
    Loss(const std::string &reduction, size_t inputs, std::function<Tensor(Tensors)> f);

private:
    size_t inputs_;
    std::function<Tensor(Tensors)> f_;
};

// Softmax and cross entropy in one, over the last dimension of logits[n,c].
//   sparse:  labels:i32[n], each in [0, c)
//   else:    labels[n,c], the probability of every class
struct SoftmaxCrossEntropyWithLogits : Loss {
    explicit SoftmaxCrossEntropyWithLogits(bool sparse = false,
                                           const std::string &reduction = "none");
};

struct CrossEntropyLossOptions {
    Tensor weight = {};  // of each class, [c]; undefined: ones
    int64_t ignore_index = -100;
    std::string reduction = "mean";  // over the weights of the labels
    double label_smoothing = 0;
};
// logits[n,c,...], labels:i32[n,...]; a label of ignore_index costs nothing. Or labels like logits,
// the probability of every class.
struct CrossEntropyLoss : Loss {
    explicit CrossEntropyLoss(const CrossEntropyLossOptions &options = {});
};

// logs of probabilities[n,c,...], labels:i32[n,...].
struct NLLLoss : Loss {
    explicit NLLLoss(const Tensor &weight = {}, int64_t ignore_index = -100,
                     const std::string &reduction = "mean");
};

// Of probabilities and labels; `weight`, which broadcasts to them, undefined: ones. Logarithms are
// cut off at -100.
struct BCELoss : Loss {
    explicit BCELoss(const Tensor &weight = {}, const std::string &reduction = "mean");
};
// Of logits and labels; pos_weight weighs the positive ones.
struct BCEWithLogitsLoss : Loss {
    explicit BCEWithLogitsLoss(const std::string &reduction = "mean", const Tensor &weight = {},
                               const Tensor &pos_weight = {});
};
// Of logits and labels of one shape.
struct MSELoss : Loss {
    explicit MSELoss(const std::string &reduction = "mean");
};
struct RMSELoss : Loss {
    RMSELoss();
};  // the root of the mean square
struct L1Loss : Loss {
    explicit L1Loss(const std::string &reduction = "mean");
};
struct MAELoss : Loss {
    explicit MAELoss(const std::string &reduction = "mean");
};  // the same
struct SmoothL1Loss : Loss {
    explicit SmoothL1Loss(double beta = 1, const std::string &reduction = "none");
};
struct HuberLoss : Loss {
    explicit HuberLoss(const std::string &reduction = "mean", double delta = 1);
};
struct SoftMarginLoss : Loss {
    explicit SoftMarginLoss(const std::string &reduction = "mean");
};
struct HingeEmbeddingLoss : Loss {
    explicit HingeEmbeddingLoss(double margin = 1, const std::string &reduction = "mean");
};
// of logarithms of rates
struct PoissonNLLLoss : Loss {
    explicit PoissonNLLLoss(const std::string &reduction = "mean");
};
// also "batchmean"
struct KLDivLoss : Loss {
    explicit KLDivLoss(const std::string &reduction = "mean");
};

// Of three tensors.
// logits, labels, var
struct GaussianNLLLoss : Loss {
    explicit GaussianNLLLoss(bool full = false, double eps = 1e-6,
                             const std::string &reduction = "mean");
};
// x1, x2, target of 1 or -1
struct MarginRankingLoss : Loss {
    explicit MarginRankingLoss(double margin = 0, const std::string &reduction = "mean");
};
// x1, x2, target of 1 or -1
struct CosineEmbeddingLoss : Loss {
    explicit CosineEmbeddingLoss(double margin = 0, const std::string &reduction = "mean");
};
struct TripletMarginLoss : Loss {
    explicit TripletMarginLoss(bool swap = false, double eps = 1e-6,
                               const std::string &reduction = "mean", double margin = 1);
};

// log_probs[t,n,c], targets:i32[n,s], input_lengths:i32[n], target_lengths:i32[n].
struct CTCLoss : Loss {
    explicit CTCLoss(int64_t blank = 0, const std::string &reduction = "mean",
                     bool zero_infinity = false);
};

}  // namespace halyard::nn
