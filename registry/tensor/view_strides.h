// Strides of views, without their tensors.
#pragma once
#include <optional>

#include "registry/tensor/shape.h"

namespace halyard {

// Returns true if elements of this shape lie one after the other, in row-major order.
bool is_dense(const Shape &shape, const Shape &strides);

// Returns the strides with which `wanted`, a shape of as many elements, shows elements that have
// this shape and these strides, in row-major order. Returns nothing if there are none.
std::optional<Shape> strides_of_reshaped(const Shape &shape, const Shape &strides,
                                         const Shape &wanted);

}  // namespace halyard
