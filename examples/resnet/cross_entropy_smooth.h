// Cross entropy with label smoothing, as in "Network migration debugging and tuning".
#pragma once
#include "nn/loss.h"
#include "primitives/ops/one_hot.h"

namespace halyard::examples {

// Takes logit[n,num_classes] and label:i32[n] (sparse) or the probabilities [n,num_classes]. The
// right class has 1 - smooth_factor, each other class smooth_factor / (num_classes - 1). In
// contrast, nn::CrossEntropyLoss's label_smoothing distributes smooth_factor over all classes.
class CrossEntropySmooth : public nn::Cell {
public:
    explicit CrossEntropySmooth(bool is_sparse = true, const std::string &reduction = "mean",
                                double smooth_factor = 0., int64_t num_classes = 1000)
        : sparse(is_sparse), on_value(Tensor::scalar(1.0 - smooth_factor)),
          off_value(Tensor::scalar(1.0 * smooth_factor / double(num_classes - 1))),
          ce(/*sparse=*/false, reduction) {}

    bool sparse;
    Tensor on_value, off_value;
    nn::SoftmaxCrossEntropyWithLogits ce;

    Tensor construct(const Tensor &logit, const Tensor &label) const override {
        return ce(logit, sparse ? F::one_hot(label, on_value, off_value, logit.size(1)) : label);
    }
};

}  // namespace halyard::examples
