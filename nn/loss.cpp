#include "nn/loss.h"

#include <algorithm>

#include "primitives/composites/places.h"
#include "primitives/operators.h"
#include "primitives/ops/binary.h"
#include "primitives/ops/cross_entropy.h"
#include "primitives/ops/ctc_loss.h"
#include "primitives/ops/label_losses.h"
#include "primitives/ops/losses.h"
#include "primitives/ops/reduce.h"
#include "primitives/ops/unary.h"

namespace halyard::nn {

namespace {

Tensor reduced(const Tensor &loss, const F::Reduction &reduction) {
    if (reduction == F::Reduction::mean) return F::reduce_mean(loss);
    return reduction == F::Reduction::sum ? F::reduce_sum(loss) : loss;
}

}  // namespace

LossBase::LossBase(const F::Reduction &reduction) : reduction_(reduction) {
    if (std::ranges::count(F::Reduction::names, reduction.text()) == 0) {
        throw AttrError("loss",
                        "reduction is " + reduction.text() + ", expected none, mean or sum");
    }
}

Tensor LossBase::get_loss(const Tensor &x, const Argument &weights) const {
    const bool one = !weights.tensor.defined() && weights.number == 1;
    return reduced(one ? x : x * weights, reduction_);
}

Loss::Loss(const F::Reduction &reduction, size_t inputs, std::function<Tensor(Tensors)> f)
    : LossBase(reduction), inputs_(inputs), f_(std::move(f)) {}

std::vector<Tensor> Loss::construct(Tensors in) const {
    if (in.size() != inputs_) {
        throw ShapeError(cls_name(), "inputs are " + std::to_string(in.size()) +
                                         " tensors, expected " + std::to_string(inputs_));
    }
    return {f_(in)};
}

SoftmaxCrossEntropyWithLogits::SoftmaxCrossEntropyWithLogits(bool sparse,
                                                             const F::Reduction &reduction)
    : Loss(reduction, 2, [sparse, reduction](Tensors in) {
          const Tensor &logits = in[0];
          const Tensor &labels = in[1];
          if (!sparse) return reduced(F::softmax_cross_entropy(logits, labels), reduction);
          const bool checkable = logits.defined() && logits.rank() > 0 && labels.defined() &&
                                 labels.dtype() == DType::i32;
          // The op returns a loss of 0 for other labels.
          if (checkable)
              labels_of("SoftmaxCrossEntropyWithLogits", "labels", labels, logits.size(-1));
          return reduced(F::sparse_softmax_cross_entropy(logits, labels), reduction);
      }) {}

CrossEntropyLoss::CrossEntropyLoss(const CrossEntropyLossOptions &o)
    : Loss(o.reduction, 2, [o](Tensors in) {
          return F::cross_entropy(in[0], in[1], o.weight, o.ignore_index, o.reduction,
                                  o.label_smoothing);
      }) {}

NLLLoss::NLLLoss(const Tensor &weight, int64_t ignore_index, const F::Reduction &reduction)
    : Loss(reduction, 2,
           [=](Tensors in) { return F::nll_loss(in[0], in[1], weight, ignore_index, reduction); }) {
}

BCELoss::BCELoss(const Tensor &weight, const F::Reduction &reduction)
    : Loss(reduction, 2,
           [=](Tensors in) { return F::binary_cross_entropy(in[0], in[1], weight, reduction); }) {}
BCEWithLogitsLoss::BCEWithLogitsLoss(const F::Reduction &reduction, const Tensor &weight,
                                     const Tensor &pos_weight)
    : Loss(reduction, 2, [=](Tensors in) {
          return F::binary_cross_entropy_with_logits(in[0], in[1], weight, pos_weight, reduction);
      }) {}

MSELoss::MSELoss(const F::Reduction &reduction)
    : Loss(reduction, 2, [reduction](Tensors in) { return F::mse_loss(in[0], in[1], reduction); }) {
}
RMSELoss::RMSELoss()
    : Loss(F::Reduction::mean, 2, [](Tensors in) { return F::sqrt(F::mse_loss(in[0], in[1])); }) {}
L1Loss::L1Loss(const F::Reduction &reduction)
    : Loss(reduction, 2, [reduction](Tensors in) { return F::l1_loss(in[0], in[1], reduction); }) {}
MAELoss::MAELoss(const F::Reduction &reduction)
    : Loss(reduction, 2, [reduction](Tensors in) { return F::l1_loss(in[0], in[1], reduction); }) {}
SmoothL1Loss::SmoothL1Loss(double beta, const F::Reduction &reduction)
    : Loss(reduction, 2,
           [=](Tensors in) { return F::smooth_l1_loss(in[0], in[1], beta, reduction); }) {}
HuberLoss::HuberLoss(const F::Reduction &reduction, double delta)
    : Loss(reduction, 2,
           [=](Tensors in) { return F::huber_loss(in[0], in[1], delta, reduction); }) {}
SoftMarginLoss::SoftMarginLoss(const F::Reduction &reduction)
    : Loss(reduction, 2,
           [reduction](Tensors in) { return F::soft_margin_loss(in[0], in[1], reduction); }) {}
HingeEmbeddingLoss::HingeEmbeddingLoss(double margin, const F::Reduction &reduction)
    : Loss(reduction, 2,
           [=](Tensors in) { return F::hinge_embedding_loss(in[0], in[1], margin, reduction); }) {}
PoissonNLLLoss::PoissonNLLLoss(const F::Reduction &reduction)
    : Loss(reduction, 2,
           [reduction](Tensors in) { return F::poisson_nll_loss(in[0], in[1], reduction); }) {}
KLDivLoss::KLDivLoss(const F::KlDivReduction &reduction)
    : Loss(reduction == F::KlDivReduction::batchmean ? "mean" : reduction.text(), 2,
           [reduction](Tensors in) { return F::kl_div(in[0], in[1], reduction); }) {}

GaussianNLLLoss::GaussianNLLLoss(bool full, double eps, const F::Reduction &reduction)
    : Loss(reduction, 3, [=](Tensors in) {
          return F::gaussian_nll_loss(in[0], in[1], in[2], eps, full, reduction);
      }) {}
MarginRankingLoss::MarginRankingLoss(double margin, const F::Reduction &reduction)
    : Loss(reduction, 3, [=](Tensors in) {
          return F::margin_ranking_loss(in[0], in[1], in[2], margin, reduction);
      }) {}
CosineEmbeddingLoss::CosineEmbeddingLoss(double margin, const F::Reduction &reduction)
    : Loss(reduction, 3, [=](Tensors in) {
          return F::cosine_embedding_loss(in[0], in[1], in[2], margin, reduction);
      }) {}
TripletMarginLoss::TripletMarginLoss(bool swap, double eps, const F::Reduction &reduction,
                                     double margin)
    : Loss(reduction, 3, [=](Tensors in) {
          return F::triplet_margin_loss(in[0], in[1], in[2], margin, eps, swap, reduction);
      }) {}
CTCLoss::CTCLoss(int64_t blank, const F::Reduction &reduction, bool zero_infinity)
    : Loss(reduction, 4, [=](Tensors in) {
          return F::ctc_loss(in[0], in[1], in[2], in[3], blank, reduction, zero_infinity);
      }) {}

}  // namespace halyard::nn
