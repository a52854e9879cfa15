// Programs of conv2d and its gradients for the cube unit, f16 with sums in f32. They are emitted
// directly, not by lowering loops.
//
// Feature maps are NCHW in global memory. On the way to l1 they are converted to NC1HWC0 (a block
// is 16 channels of a pixel), from which load3d makes the rows of im2col. A program before that
// converts filters to FRACTAL_Z, [c1][u][v][o1][16 o][16 c], in global memory.
#pragma once
#include <string>

#include "dsl/ascend/convolution/correlation.h"
#include "dsl/ascend/lowering/fractals.h"

namespace halyard {
class Op;
struct Ascend;
}  // namespace halyard

namespace halyard::ascend {

enum class Gradient { none, image, filters };

// Sets the programs of `op`, which is conv2d or one of its gradients, in place of loops. Each of
// them is proved (prove_convolution.h). Throws DispatchError if there is no program: for other
// dtypes than f16, tensors that aren't dense, padding wider than a filter, and parameters beyond
// those of load3d.
void convolve(const Ascend &npu, const Op &op, Gradient g);

// The conversion of filters from OIHW, with `o` filters of `c` channels, to FRACTAL_Z. With
// `transposed` they become those of the gradient of the image: o and c are exchanged, and taps are
// in reverse order.
struct Filters {
    std::string from, to;
    int64_t group = 1, o = 1, c = 1, taps = 1;
    bool transposed = false;
    int64_t size() const;  // elements of `to`
};
void filters_to_fractals(Writer &w, const Filters &f);

// The tensors of a correlation; `fractals` has the filters.
struct CorrelationTensors {
    std::string image, fractals, out;
};
// Emits a correlation. Tiles are halved `shrink` times.
void correlate(Writer &w, const Correlation &c, const CorrelationTensors &t, int shrink);

// Emits the gradient of the filters. `dout` is the gradient of out; `dfilters` is OIHW.
void correlate_taps(Writer &w, const Correlation &c, const std::string &image,
                    const std::string &dout, const std::string &dfilters, int shrink);

}  // namespace halyard::ascend
