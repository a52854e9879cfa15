// Losses.
#pragma once
#include <string>

#include "nn/cell.h"

namespace halyard::nn {

// Softmax and cross entropy in one, over the last dimension of logits[n,c].
//   sparse:  labels:i32[n], each in [0, c)
//   else:    labels[n,c], the probability of every class
// reduction "none" gives loss[n], "mean" and "sum" a scalar. Throws AttrError, ShapeError, DTypeError.
class SoftmaxCrossEntropyWithLogits : public Cell {
public:
    explicit SoftmaxCrossEntropyWithLogits(bool sparse = false, const std::string &reduction = "none");
    Tensor construct(const Tensor &logits, const Tensor &labels) const override;

private:
    bool sparse_;
    std::string reduction_;
};

}  // namespace halyard::nn
