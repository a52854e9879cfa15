#include "nn/loss.h"

#include "primitives/ops.h"

namespace halyard::nn {

SoftmaxCrossEntropyWithLogits::SoftmaxCrossEntropyWithLogits(bool sparse, const std::string &reduction) : sparse_(sparse), reduction_(reduction) {
    if (reduction != "none" && reduction != "mean" && reduction != "sum")
        throw AttrError("SoftmaxCrossEntropyWithLogits", "reduction is " + reduction + ", expected none, mean or sum");
}

Tensor SoftmaxCrossEntropyWithLogits::construct(const Tensor &logits, const Tensor &labels) const {
    const Tensor loss = sparse_ ? F::sparse_softmax_cross_entropy(logits, labels) : F::softmax_cross_entropy(logits, labels);
    if (reduction_ == "mean") return F::reduce_mean(loss);
    return reduction_ == "sum" ? F::reduce_sum(loss) : loss;
}

}  // namespace halyard::nn
