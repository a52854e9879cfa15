// Compositions of conv2d and its gradient (records: kernels/convolutions.cpp).
#pragma once
#include "primitives/primitive.h"

namespace halyard {

Composition convolution_composition(const std::string &op);  // null when it is none of these

}  // namespace halyard
