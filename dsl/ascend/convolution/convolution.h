// conv2d and its gradients on the cube unit, f16 with sums in f32: programs of their own, beside
// those that lowering makes of loops.
//
// Feature maps are NCHW in global memory. On the way to l1 they become NC1HWC0 (16 channels of a
// pixel are a block), of which load3d makes the rows of img2col. Filters are brought into
// FRACTAL_Z, [c1][u][v][o1][16 o][16 c], by a program before that, through global memory.
#pragma once
#include <string>

#include "dsl/ascend/lowering/fractals.h"

namespace halyard {
class Op;
struct Ascend;
}  // namespace halyard

namespace halyard::ascend {

// One correlation: out = image * filters, of each group apart.
struct Correlation {
    int64_t n = 1, group = 1;
    int64_t c = 1, h = 1, w = 1;    // channels of one group; the image
    int64_t o = 1, oh = 1, ow = 1;  // channels of one group; the result
    int64_t u = 1, v = 1;           // of a filter
    int64_t stride_h = 1, stride_w = 1, dil_h = 1, dil_w = 1;
    int64_t top = 0, bottom = 0, left = 0, right = 0;
    int64_t taps() const { return u * v; }
    bool pointwise() const {
        return taps() == 1 && stride_h * stride_w == 1 && top + bottom + left + right == 0;
    }
};

enum class Gradient { none, image, filters };

// Gives `op`, which is conv2d or one of its gradients, the programs below in place of loops, each
// of them proved (prove_convolution.h). Throws DispatchError where there are none: for other types
// than f16, tensors that aren't dense, and borders wider than a filter.
void convolve(const Ascend &npu, const Op &op, Gradient g);

// Filters as FRACTAL_Z: `from` OIHW with `o` rows of `c` channels. With `transposed` those of the
// gradient of the image: o and c change places, and taps their order.
struct Filters {
    std::string from, to;
    int64_t group = 1, o = 1, c = 1, taps = 1;
    bool transposed = false;
    int64_t size() const;  // of `to`, in elements
};
void filters_to_fractals(Writer &w, const Filters &f);

// out = image correlated with `fractals`. `shrink` halves the tiles that often.
struct CorrelationTensors {
    std::string image, fractals, out;
};
void correlate(Writer &w, const Correlation &c, const CorrelationTensors &t, int shrink);

// The gradient of the filters: `dout` is the gradient of out, `dfilters` OIHW.
void correlate_taps(Writer &w, const Correlation &c, const std::string &image,
                    const std::string &dout, const std::string &dfilters, int shrink);

}  // namespace halyard::ascend
