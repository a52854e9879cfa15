// Compositions without inputs: eye, tri, arange, linspace (records: kernels/creation.cpp).
#pragma once
#include "primitives/primitive.h"

namespace halyard {

Composition creation_composition(const std::string &op);  // null when it is none of these

}  // namespace halyard
