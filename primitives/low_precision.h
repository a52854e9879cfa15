// Compositions of quantised numbers (records: kernels/low_precision.cpp).
#pragma once
#include "primitives/primitive.h"

namespace halyard {

Composition low_precision_composition(const std::string &op);  // null when it is none of these

}  // namespace halyard
