// Compositions that give images another size (records: kernels/layout/resize.cpp).
#pragma once
#include "primitives/primitive.h"

namespace halyard {

// The gradient of resize_kernel, of its x, row, row_weight, column, column_weight and dy: the same
// sum with the tables read the other way.
Tensor resize_in_x(std::span<const Tensor> in, const RegisteredOp &op, const Attrs &attrs);

}  // namespace halyard
