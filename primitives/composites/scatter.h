// Compositions that read or write elements at places given by tensors (records:
// kernels/indexing/scatter.cpp). They are gather_kernel, gather_elements_kernel or scatter_kernel;
// where one index takes several dimensions, over dense memory, where a place is a number.
#pragma once
#include "primitives/primitive.h"

namespace halyard {

// Gradients of scatter_kernel, of its x, index, updates, y and dy, as
// primitives/autograd/composed_gradient.cpp lists them. What of several updates was overwritten has
// none; where a maximum or minimum was met several times, all share alike. Throw GradError for
// products.
Tensor scatter_in_x(std::span<const Tensor> in, const RegisteredOp &op, const Attrs &attrs);
Tensor scatter_in_updates(std::span<const Tensor> in, const RegisteredOp &op, const Attrs &attrs);

}  // namespace halyard
