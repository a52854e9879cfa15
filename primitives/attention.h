// Scaled dot-product attention (record: kernels/attention.cpp).
#pragma once
#include "primitives/primitive.h"

namespace halyard {

Composition attention_composition(const std::string &op);  // null when it is none of these

}  // namespace halyard
