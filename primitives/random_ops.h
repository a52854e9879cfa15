// Random tensors, choices and orders (records: kernels/random.cpp, random_order.cpp, dropout.cpp).
#pragma once
#include "primitives/primitive.h"

namespace halyard {

Composition random_composition(const std::string &op);  // null when it is none of these

}  // namespace halyard
