#include "tools/export/int8_geometry.h"

#include <algorithm>

namespace halyard::exporting {
namespace {

using graph::Node;

enum class PadMode : uint8_t { valid, same, pad };  // the ops' choices, in their order

const Ints &ints_of(const Node &n, const char *name) {
    return n.attrs->ints(size_t(n.attrs->find(name)));
}
int64_t integer_of(const Node &n, const char *name) {
    return n.attrs->integer(size_t(n.attrs->find(name)));
}
Window window_of(const Node &n, const char *name) {
    const Ints &i = ints_of(n, name);
    return {i[0], i[1]};
}

bool is_nchw(const Node &n) {
    return integer_of(n, "data_format") == 0 && n.in[0].shape.rank() == 4;
}

// Places of a window's elements in one dimension.
struct Reach {
    int64_t extent, outputs, window, stride, dilation;
};

int64_t last_of(const Reach &r, int64_t before) {
    return (r.outputs - 1) * r.stride + (r.window - 1) * r.dilation - before;
}

// Returns the padding before the first element; `given` is that of the mode "pad".
int64_t padding_before(const Node &n, const Reach &r, int64_t given) {
    switch (PadMode(integer_of(n, "pad_mode"))) {
    case PadMode::valid: return 0;
    case PadMode::same: return std::max<int64_t>(last_of(r, 0) + 1 - r.extent, 0) / 2;
    case PadMode::pad: break;
    }
    return given;
}

Reach rows_of(int64_t h, int64_t oh, const Window &window, const Window &stride,
              const Window &dilation) {
    return {h, oh, window.rows, stride.rows, dilation.rows};
}
Reach columns_of(int64_t w, int64_t ow, const Window &window, const Window &stride,
                 const Window &dilation) {
    return {w, ow, window.columns, stride.columns, dilation.columns};
}

}  // namespace

std::optional<Convolution> convolution_of(const Node &n) {
    if (!is_nchw(n)) return std::nullopt;
    const Shape &x = n.in[0].shape, &weight = n.in[1].shape, &y = n.out[0].shape;
    Convolution c;
    c.n = x[0];
    c.c = x[1];
    c.h = x[2];
    c.w = x[3];
    c.o = weight[0];
    c.u = weight[2];
    c.v = weight[3];
    c.group = integer_of(n, "group");
    c.y_rows = y[2];
    c.y_columns = y[3];
    c.stride = window_of(n, "stride");
    c.dilation = window_of(n, "dilation");
    const Window taps{c.u, c.v};
    const Reach rows = rows_of(c.h, c.y_rows, taps, c.stride, c.dilation);
    const Reach columns = columns_of(c.w, c.y_columns, taps, c.stride, c.dilation);
    c.top = padding_before(n, rows, ints_of(n, "padding")[0]);
    c.left = padding_before(n, columns, ints_of(n, "padding")[2]);
    c.is_padded = c.top > 0 || c.left > 0 || last_of(rows, c.top) >= c.h ||
                  last_of(columns, c.left) >= c.w;
    return c;
}

std::optional<Convolution> matmul_of(const Node &n) {
    const Shape &a = n.in[0].shape, &y = n.out[0].shape;
    if (a.rank() != 2 || y.rank() != 2 || integer_of(n, "transpose_a") != 0) return std::nullopt;
    Convolution c;
    c.n = a[0];
    c.c = a[1];
    c.o = y[1];
    return c;
}

std::optional<Pool> pool_of(const Node &n) {
    if (!is_nchw(n)) return std::nullopt;
    const Shape &x = n.in[0].shape, &y = n.out[0].shape;
    Pool p;
    p.n = x[0];
    p.c = x[1];
    p.h = x[2];
    p.w = x[3];
    p.y_rows = y[2];
    p.y_columns = y[3];
    p.window = window_of(n, "kernel_size");
    p.stride = window_of(n, "stride");
    if (n.attrs->find("dilation") >= 0) p.dilation = window_of(n, "dilation");
    const Reach rows = rows_of(p.h, p.y_rows, p.window, p.stride, p.dilation);
    const Reach columns = columns_of(p.w, p.y_columns, p.window, p.stride, p.dilation);
    p.top = padding_before(n, rows, ints_of(n, "padding")[0]);
    p.left = padding_before(n, columns, ints_of(n, "padding")[2]);
    p.is_padded = p.top > 0 || p.left > 0 || last_of(rows, p.top) >= p.h ||
                  last_of(columns, p.left) >= p.w;
    return p;
}

std::optional<Pool> mean_of(const Node &n) {
    const Shape &x = n.in[0].shape;
    Ints axes = ints_of(n, "axis");
    for (int64_t &axis : axes)
        axis += axis < 0 ? x.rank() : 0;
    std::ranges::sort(axes);
    if (x.rank() != 4 || axes != Ints{2, 3}) return std::nullopt;
    Pool p;
    p.n = x[0];
    p.c = x[1];
    p.h = x[2];
    p.w = x[3];
    p.window = {p.h, p.w};
    return p;
}

bool is_row_major(const Node &matmul) {
    return integer_of(matmul, "transpose_b") == 0;
}

Tensor transposed(const Tensor &t) {
    const int64_t rows = t.shape()[0], columns = t.shape()[1];
    Tensor result = Tensor::empty({columns, rows}, DType::f32);
    const auto *from = static_cast<const float *>(t.raw());
    auto *to = static_cast<float *>(result.raw());
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++)
            to[j * rows + i] = from[i * columns + j];
    return result;
}

bool is_partition(const Pool &p) {
    return p.stride.rows == p.window.rows && p.stride.columns == p.window.columns &&
           p.dilation.rows == 1 && p.dilation.columns == 1 && !p.is_padded;
}

bool is_plain_average(const Node &n, const Pool &p) {
    return !p.is_padded && integer_of(n, "divisor_override") == 0;
}

std::optional<std::vector<double>> bias_of(const Tensor &constant, const Shape &result) {
    const Shape &shape = constant.shape();
    const int64_t channels = result[1];
    const int channel = 1 - (result.rank() - shape.rank());  // the constant's dimension of channels
    for (int d = 0; d < shape.rank(); d++)
        if (shape[d] != 1 && d != channel) return std::nullopt;
    const auto *values = static_cast<const float *>(constant.raw());
    std::vector<double> bias;
    for (int64_t o = 0; o < channels; o++)
        bias.push_back(values[constant.elements() == 1 ? 0 : o]);
    return bias;
}

}  // namespace halyard::exporting
