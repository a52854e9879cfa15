// What gradients of ops that pick elements along an axis are composed of.
#pragma once
#include "primitives/primitive.h"

namespace halyard {

// dx of x's shape with dy's elements added at `places` along `axis` (both of one shape, which
// differs from x's along axis only), in their order.
Tensor added_along(const Tensor &x, int64_t axis, const Tensor &places, const Tensor &dy);

}  // namespace halyard
