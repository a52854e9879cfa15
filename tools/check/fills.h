// What tensors of a call are filled with.
#pragma once
#include <random>
#include <vector>

#include "registry/tensor/tensor.h"

namespace halyard::check {

// Memory that no kernel may take for results: what outputs find where they go.
Tensor soiled(int64_t elements, DType t);

// So many NaN, Inf, zeros and subnormal numbers, anywhere.
void sprinkle(const Tensor &t, int count, std::mt19937 &rng);

// Half of t's elements become numbers where ops bend or jump, and that are often equal to each
// other: 0 and 1 most often, and `own`, the op's attributes; now and then all of them one such
// number. All dtypes have them exactly.
void bend(const Tensor &t, const std::vector<double> &own, std::mt19937 &rng);

}  // namespace halyard::check
