// Zeros between the elements of planes: what the gradient of a strided convolution is correlated
// with.
#pragma once
#include <string>

#include "dsl/ascend/lowering/writer.h"

namespace halyard::ascend {

// to[p][y * stride_h][x * stride_w] = from[p][y][x], 0 elsewhere; f16. Planes are h x w, and to_h x
// to_w: the last element has a place, and no more than stride - 1 rows or columns follow it.
struct Dilation {
    std::string from, to;
    int64_t planes = 1, h = 1, w = 1, stride_h = 1, stride_w = 1, to_h = 1, to_w = 1;
};
// of columns; stride_h * to_w
inline constexpr int64_t max_dilated_stride = 15, max_dilated_row = 1024;
void dilate(Writer &w, const Dilation &d);

}  // namespace halyard::ascend
