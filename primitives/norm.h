// What norms are made of: kernels/norms.cpp has their records.
#pragma once
#include "primitives/primitive.h"

namespace halyard {

Composition norm_composition(const std::string &op);  // null when the op isn't one of them

}  // namespace halyard
