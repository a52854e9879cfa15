// Compositions that read or write elements at places given by tensors (records: kernels/scatter.cpp). All of them are gather_kernel or
// scatter_kernel over dense memory, where an element's place is a number.
#pragma once
#include "primitives/primitive.h"

namespace halyard {

Composition scatter_composition(const std::string &op);  // null when it is none of these

// Gradients of scatter_kernel, of its x, index, updates, y and dy, as primitives/composed_gradient.cpp lists them. What of several
// updates was overwritten has none; where a maximum or minimum was met several times, all share alike. Throw GradError for products.
Tensor scatter_in_x(std::span<const Tensor> in, const RegisteredOp &op, const Attrs &attrs);
Tensor scatter_in_updates(std::span<const Tensor> in, const RegisteredOp &op, const Attrs &attrs);

}  // namespace halyard
