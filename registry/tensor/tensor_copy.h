// Copies between strided tensors, for Tensor::copy(), to() and assign().
#pragma once
#include "registry/tensor/tensor.h"

namespace halyard {

// Writes from's elements, converted to to's dtype (registry/tensor/convert.h), into to's memory.
// The shapes agree, and the memories don't overlap.
void copy_elements(const Tensor &to, const Tensor &from);

}  // namespace halyard
