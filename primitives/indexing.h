// Compositions that move elements by lists of places (records: kernels/indexing.cpp). All of them, and their gradients, are
// gather_kernel along one axis after another.
#pragma once
#include "primitives/primitive.h"

namespace halyard {

Composition indexing_composition(const std::string &op);  // null when it is none of these

}  // namespace halyard
