// What losses are made of: kernels/losses.cpp has their records.
#pragma once
#include "primitives/primitive.h"

namespace halyard {

Composition loss_composition(const std::string &op);  // null when the op isn't one of them

}  // namespace halyard
