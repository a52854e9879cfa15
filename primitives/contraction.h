// Compositions of products: dense, and the products that matmul's kernels serve under other names (records: kernels/dense.cpp,
// kernels/contraction.cpp).
#pragma once
#include "primitives/primitive.h"

namespace halyard {

Composition contraction_composition(const std::string &op);  // null when it is none of these

}  // namespace halyard
