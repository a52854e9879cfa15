// A network in integers: tensors of i8, sums of i32, and one rounding for each element of a result.
//
// A tensor's element q stands for scale * (q - zero). A step computes
//   sum     = bias[c] + sum over taps of (x - x's zero) * weight[c]           (convolution)
//   product = sum * multiplier[c] + (z - z's zero) * multiplier_of_z           (z: a shortcut)
//   y       = clamp(round(product / 2^shift) + y's zero, low, high)
// exactly. round() is to the nearest integer, and of two to the one away from zero. sum fits i32,
// product fits i64. int8_reference.h computes it as it stands here, int8_source.h writes it as C99.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "registry/tensor/shape.h"

namespace halyard::exporting {

struct Int8Tensor {
    Shape shape;
    float scale = 1;
    int32_t zero = 0;  // in [-128,127]
};

// How a product becomes an element of y.
struct Requantize {
    std::vector<int32_t> multiplier;  // by channel of y, or one; positive
    int32_t multiplier_of_z = 0;
    int shift = 1;  // in [1,62]
    int32_t zero = 0, low = -128, high = 127;
};

// Extents of a window over rows and columns.
struct Window {
    int64_t rows = 1, columns = 1;
};

// x[n,c,h,w] * weight[o,c/group,u,v] -> [n,o,oh,ow], of which `pool` takes the largest of each
// window: y[n,o,oh/pool.rows,ow/pool.columns]. A matmul is one of maps of one element.
struct Convolution {
    int64_t n = 1, c = 1, h = 1, w = 1, o = 1, u = 1, v = 1, group = 1;
    int64_t y_rows = 1, y_columns = 1;
    Window stride, dilation, pool;
    int64_t top = 0, left = 0;  // padding, whose elements are x's zero
    bool is_padded = false;     // also below or at the right
    std::vector<int8_t> weight;
    std::vector<int32_t> bias;
    std::string name;  // of the weight: "conv1.weight"
};

// x[n,c,h,w] -> y[n,c,y_rows,y_columns]: the largest or the sum of each window, of elements that
// exist.
struct Pool {
    int64_t n = 1, c = 1, h = 1, w = 1, y_rows = 1, y_columns = 1;
    Window window, stride, dilation;
    int64_t top = 0, left = 0;
    bool is_padded = false;  // also below or at the right
};

struct Int8Step {
    // convolution; sum: of windows; largest: of windows, without rounding; add: x + z, of one
    // shape; rescale: x alone.
    enum class Kind : uint8_t { convolution, sum, largest, add, rescale };
    Kind kind = Kind::convolution;
    std::string name;            // of the ops: "conv2d_relu_max_pool2d"
    std::string part;            // the cell: "LeNet5/conv1-Conv2d"
    int x = -1, z = -1, y = -1;  // buffers; z: of an add or a shortcut
    Convolution convolution;
    Pool pool;
    Requantize to_y;
};

struct Int8Network {
    std::string name;
    std::vector<Int8Step> steps;
    std::map<int, Int8Tensor> tensors;  // by buffer
    int input = -1, output = -1;        // buffers
};

}  // namespace halyard::exporting
