// Copies between strided tensors: what copy(), to() and assign() of Tensor stand on.
#pragma once
#include "registry/tensor/tensor.h"

namespace halyard {

// Writes from's elements, converted to to's dtype (registry/tensor/convert.h), into to's memory.
// The shapes agree; the memories don't overlap.
void copy_elements(const TensorImpl &to, const TensorImpl &from);

}  // namespace halyard
