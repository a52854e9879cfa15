// Views and sums that differentiate: what compositions and the tape are built of. Each records how
// its gradient passes back.
#pragma once
#include "primitives/primitive.h"

namespace halyard {

// the same elements under an identity of their own
Tensor alias_of(const Tensor &x);
Tensor dense(const Tensor &x);                         // a copy in row-major order
Tensor reshaped(const Tensor &x, const Shape &shape);  // one -1; copies where no strides can say it
Tensor transposed(const Tensor &x, const std::vector<int> &permutation);
// extents of 1, and leading ones, are repeated
Tensor broadcast_view(const Tensor &x, const Shape &shape);

// Elements begin, begin + step, ... before end of every axis; 0 <= begin <= end <= extent, step
// >= 1.
struct Window {
    Shape begin, end, step;
};
Tensor window_of(const Tensor &x, const Window &w);
// its adjoint: zeros of `shape` with y in the window
Tensor embedded(const Tensor &y, const Shape &shape, const Window &w);

// Elements x[..., i, ..., i + offset, ...] of dimensions a and b, which go last as one.
struct Diagonal {
    int64_t offset;  // below 0: from row -offset on
    int a, b;        // different dimensions
};
Tensor diagonal_of(const Tensor &x, const Diagonal &d);
// its adjoint: zeros of `shape` with y on the diagonal
Tensor on_diagonal(const Tensor &y, const Shape &shape, const Diagonal &d);

// The adjoint of broadcasting to x's shape: sums over the dimensions that `shape` lacks or has
// as 1. Throws GradError naming `op` when `shape` doesn't broadcast to x's.
Tensor sum_to(const Tensor &x, const Shape &shape, const char *op);

Tensor cast_to(const Tensor &x, DType dtype);  // x itself when it has that dtype

// May this input of a composite op be an undefined tensor, which stands for a value its
// documentation names?
bool is_optional(const std::string &op, const std::string &input);

// Throws ShapeError naming the first of x0, x1, ... that is an undefined tensor.
void require_defined(const char *op, std::span<const Tensor> x);

// One output of an op without composition, by name.
Tensor run1(const char *op, std::initializer_list<Tensor> in,
            const std::vector<std::pair<std::string, AttrValue>> &attrs = {});

}  // namespace halyard
