// Bilinear resizing of 8-bit images.
#pragma once
#include "registry/tensor/tensor.h"

namespace halyard::dataset {

// Resizes u8[h,w,c] to u8[height,width,c]. Neither may be empty. Throws DTypeError for other
// dtypes.
Tensor resize_linear(const Tensor &image, int64_t height, int64_t width);

}  // namespace halyard::dataset
