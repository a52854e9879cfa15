// Compositions of recurrent cells (records: kernels/recurrent.cpp).
#pragma once
#include "primitives/primitive.h"

namespace halyard {

Composition recurrent_composition(const std::string &op);  // null when it is none of these

}  // namespace halyard
