// Dilation: inserts zeros between the elements of planes. The gradient of a strided convolution's
// image is the correlation of a dilated gradient.
#pragma once
#include <string>

#include "dsl/ascend/lowering/writer.h"

namespace halyard::ascend {

// to[p][y * stride_h][x * stride_w] = from[p][y][x], 0 elsewhere; f16. Planes of h x w become
// planes of to_h x to_w, in which at most stride - 1 rows or columns follow the last element.
struct Dilation {
    std::string from, to;
    int64_t planes = 1, h = 1, w = 1, stride_h = 1, stride_w = 1, to_h = 1, to_w = 1;
};
inline constexpr int64_t max_dilated_stride = 15;  // the largest stride_w
inline constexpr int64_t max_dilated_row = 1024;   // stride_h * to_w
void dilate(Writer &w, const Dilation &d);

}  // namespace halyard::ascend
