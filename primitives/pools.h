// Compositions of pools (records: kernels/pools.cpp).
#pragma once
#include "primitives/primitive.h"

namespace halyard {

Composition pool_composition(const std::string &op);  // null when it is none of these

}  // namespace halyard
