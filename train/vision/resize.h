// Bilinear resizing of 8-bit images.
#pragma once
#include "registry/tensor/tensor.h"

namespace halyard::dataset {

// u8[h,w,c] to u8[height,width,c], both with pixels; DTypeError of other types.
Tensor resize_linear(const Tensor &image, int64_t height, int64_t width);

}  // namespace halyard::dataset
