// Compositions that lay windows of an image side by side, or add them up again (records: kernels/windows.cpp).
#pragma once
#include "primitives/primitive.h"

namespace halyard {

Composition windows_composition(const std::string &op);  // null when it is none of these

}  // namespace halyard
