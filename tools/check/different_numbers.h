// Compares tensors whose numbers should have the same bits.
#pragma once
#include <cstdint>

#include "registry/tensor/tensor.h"

namespace halyard::check {

// Returns the place of the first number whose bits differ, -1 if none do, of dense tensors of one
// shape and dtype. Two NaN are the same: where two meet, the compiler chooses whose sign the result
// has.
int64_t first_different_number(const Tensor &a, const Tensor &b);

}  // namespace halyard::check
