// What other compositions call of this file's composites (indexing/indexing.h).
#pragma once
#include "primitives/primitive.h"

namespace halyard::composite {

Tensor norm(const Tensor &x, double ord);  // of all elements

}  // namespace halyard::composite
