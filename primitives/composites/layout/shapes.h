// What other compositions call of this file's composites (indexing/indexing.h).
#pragma once
#include "primitives/primitive.h"

namespace halyard::composite {

Tensor broadcast_to(const Tensor &x, const Shape &shape);

}  // namespace halyard::composite
