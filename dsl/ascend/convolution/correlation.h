// Correlation: the extents of a convolution, as its programs for Ascend need them.
#pragma once
#include <cstdint>

namespace halyard::ascend {

// The problem of a correlation, out = image * filters, separately for each group.
struct Correlation {
    int64_t n = 1, group = 1;
    int64_t c = 1, h = 1, w = 1;    // the image; channels of one group
    int64_t o = 1, oh = 1, ow = 1;  // the result; channels of one group
    int64_t u = 1, v = 1;           // height and width of a filter
    int64_t stride_h = 1, stride_w = 1, dil_h = 1, dil_w = 1;
    int64_t top = 0, bottom = 0, left = 0, right = 0;
    int64_t taps() const { return u * v; }
    bool is_pointwise() const {
        return taps() == 1 && stride_h * stride_w == 1 && top + bottom + left + right == 0;
    }
};

}  // namespace halyard::ascend
