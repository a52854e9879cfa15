// clip_by_global_norm, which takes any number of tensors and so has no record. clip_by_norm is a
// composite.
#pragma once
#include "primitives/primitive.h"

namespace halyard {

namespace F {
// x_k clip_norm / max(N, clip_norm), N the 2-norm of all elements of all x. Throws AttrError unless
// clip_norm > 0, DTypeError for tensors that aren't floats, ShapeError when there are none.
std::vector<Tensor> clip_by_global_norm(const std::vector<Tensor> &x, double clip_norm = 1);
}  // namespace F

namespace ops {
struct ClipByGlobalNorm {
    double clip_norm = 1;
    std::vector<Tensor> operator()(const std::vector<Tensor> &x) const {
        return F::clip_by_global_norm(x, clip_norm);
    }
};
}  // namespace ops

}  // namespace halyard
