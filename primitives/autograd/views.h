// Views and sums that differentiate, of which compositions and the tape are built. Each records how
// its gradient passes back.
#pragma once
#include "primitives/primitive.h"

namespace halyard {

// Returns a view of x's elements that is a tensor of its own on the tape.
Tensor alias_of(const Tensor &x);
Tensor dense(const Tensor &x);  // Returns a copy in row-major order.
// One extent may be -1. Copies if strides can't express it.
Tensor reshaped(const Tensor &x, const Shape &shape);
Tensor transposed(const Tensor &x, const std::vector<int> &permutation);
// Repeats extents of 1, and adds leading dimensions.
Tensor broadcast_view(const Tensor &x, const Shape &shape);

// Elements begin, begin + step, ... before end of every axis; 0 <= begin <= end <= extent, step
// >= 1.
struct Window {
    Shape begin, end, step;
};
Tensor window_of(const Tensor &x, const Window &w);
// The adjoint: returns zeros of `shape` with y in the window.
Tensor embedded(const Tensor &y, const Shape &shape, const Window &w);

// Elements x[..., i, ..., i + offset, ...] of dimensions a and b, which go last as one.
struct Diagonal {
    int64_t offset;  // If negative, the diagonal starts at row -offset.
    int a, b;        // Different dimensions.
};
Tensor diagonal_of(const Tensor &x, const Diagonal &d);
// The adjoint: returns zeros of `shape` with y on the diagonal.
Tensor on_diagonal(const Tensor &y, const Shape &shape, const Diagonal &d);

// The adjoint of broadcasting to x's shape: sums over the dimensions that `shape` lacks or has
// as 1. Throws GradError naming `op` when `shape` doesn't broadcast to x's.
Tensor sum_to(const Tensor &x, const Shape &shape, const char *op);

}  // namespace halyard
