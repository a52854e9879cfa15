// What other compositions call of this file's composites: their functions in F:: are generated
// after compositions are compiled.
#pragma once
#include "primitives/primitive.h"

namespace halyard::composite {

Tensor pad(const Tensor &x, const Ints &padding, double value = 0);
Tensor gather(const Tensor &x, const Tensor &indices, int64_t axis);
Tensor index_select(const Tensor &x, const Tensor &index, int64_t axis);
Tensor flip(const Tensor &x, const Ints &dims);

}  // namespace halyard::composite
