// Compositions that take dimensions in another order, apart or together (records: kernels/views.cpp).
#pragma once
#include "primitives/primitive.h"

namespace halyard {

Composition views_composition(const std::string &op);  // null when it is none of these

}  // namespace halyard
