// Primitives over any number of tensors. A record's signature names each of its tensors, so these
// have none: they are written by hand, as copies into one tensor and views of one.
#pragma once
#include <string>
#include <vector>

#include "registry/tensor/tensor.h"

namespace halyard {

namespace F {
// Joins tensors that agree in dtype and in every extent but `axis`. Throws ShapeError, DTypeError.
Tensor concat(const std::vector<Tensor> &x, int axis = 0);
// Joins tensors of one shape along a new axis: n of [a,b] give [n,a,b] for axis 0.
Tensor stack(const std::vector<Tensor> &x, int axis = 0);
// Views of `output_num` equal parts along `axis`.
std::vector<Tensor> split(const Tensor &x, int axis = 0, int output_num = 1);
// Views of the tensors that stack() would join to x; unbind is PyTorch's name.
std::vector<Tensor> unstack(const Tensor &x, int axis = 0);
inline std::vector<Tensor> unbind(const Tensor &x, int axis = 0) {
    return unstack(x, axis);
}
// Views of the shape that all of x broadcast to. Throws ShapeError where there is none.
std::vector<Tensor> broadcast_tensors(const std::vector<Tensor> &x);
// For vectors of n0, n1, n2, ... elements views of [n0,n1,n2,...], the k-th of which varies along
// dimension k alone ("ij"); with "xy" the first two dimensions are exchanged. Throws ShapeError for
// other ranks than 1 and 0, AttrError for another `indexing`.
std::vector<Tensor> meshgrid(const std::vector<Tensor> &x, const std::string &indexing = "xy");
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
struct Unstack {
    int axis = 0;
    std::vector<Tensor> operator()(const Tensor &x) const { return F::unstack(x, axis); }
};
struct BroadcastTensors {
    std::vector<Tensor> operator()(const std::vector<Tensor> &x) const {
        return F::broadcast_tensors(x);
    }
};
struct Meshgrid {
    std::string indexing = "xy";
    std::vector<Tensor> operator()(const std::vector<Tensor> &x) const {
        return F::meshgrid(x, indexing);
    }
};
}  // namespace ops

}  // namespace halyard
