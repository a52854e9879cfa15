// Compositions of reductions (records: kernels/statistics.cpp).
#pragma once
#include "primitives/primitive.h"

namespace halyard {

Composition statistics_composition(const std::string &op);  // null when it is none of these

}  // namespace halyard
