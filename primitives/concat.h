// Primitives over any number of tensors. A record's signature names each of its tensors, so these have none: they are
// written by hand, as copies into one tensor and views of one.
#pragma once
#include <vector>

#include "registry/tensor.h"

namespace halyard {

namespace F {
// Joins tensors that agree in dtype and in every extent but `axis`. Throws ShapeError, DTypeError.
Tensor concat(const std::vector<Tensor> &x, int axis = 0);
// Joins tensors of one shape along a new axis: n of [a,b] give [n,a,b] for axis 0.
Tensor stack(const std::vector<Tensor> &x, int axis = 0);
// Views of `output_num` equal parts along `axis`.
std::vector<Tensor> split(const Tensor &x, int axis = 0, int output_num = 1);
}  // namespace F

namespace ops {
struct Concat {
    int axis = 0;
    Tensor operator()(const std::vector<Tensor> &x) const { return F::concat(x, axis); }
};
struct Stack {
    int axis = 0;
    Tensor operator()(const std::vector<Tensor> &x) const { return F::stack(x, axis); }
};
struct Split {
    int axis = 0, output_num = 1;
    std::vector<Tensor> operator()(const Tensor &x) const { return F::split(x, axis, output_num); }
};
}  // namespace ops

}  // namespace halyard
