// Views that differentiate. A tensor's own methods are recorded in
// primitives/autograd/tape_recording.cpp, the others here. The adjoint of a view is a view of the
// gradient, an embedding into zeros, or a sum. Each is built from functions of this file, so
// gradients of gradients need nothing more.
#include "primitives/autograd/views.h"

#include <algorithm>

#include "primitives/autograd/recorded.h"
#include "primitives/ops/reduce.h"

namespace halyard {
namespace {

Tensor window(const Tensor &x, const Window &w) {
    Shape shape = x.shape();
    Shape strides = x.strides();
    int64_t offset = 0;
    for (int d = 0; d < shape.rank(); d++) {
        shape[d] = (w.end[d] - w.begin[d]) / w.step[d] + ((w.end[d] - w.begin[d]) % w.step[d] != 0);
        offset += w.begin[d] * strides[d];
        if (shape[d] > 1) strides[d] *= w.step[d];
    }
    return x.with_view(shape, strides, shape.elements() ? offset : 0);
}

Tensor diagonal(const Tensor &x, const Diagonal &d) {
    // No extent is larger.
    const int64_t offset = std::clamp<int64_t>(d.offset, -INT32_MAX, INT32_MAX);
    const int64_t down = std::max<int64_t>(0, -offset);
    const int64_t right = std::max<int64_t>(0, offset);
    const int64_t n = std::max<int64_t>(0, std::min(x.shape()[d.a] - down, x.shape()[d.b] - right));
    Shape shape, strides;
    for (int k = 0; k < x.rank(); k++) {
        if (k != d.a && k != d.b) {
            shape.push_back(x.shape()[k]);
            strides.push_back(x.strides()[k]);
        }
    }
    shape.push_back(n);
    strides.push_back(x.strides()[d.a] + x.strides()[d.b]);
    return x.with_view(shape, strides,
                       shape.elements() ? down * x.strides()[d.a] + right * x.strides()[d.b] : 0);
}

}  // namespace

Tensor alias_of(const Tensor &x) {
    return recorded(x, x.with_view(x.shape(), x.strides(), 0), [](const Tensor &dy) { return dy; });
}

Tensor dense(const Tensor &x) {
    return x.copy();
}

Tensor reshaped(const Tensor &x, const Shape &shape) {
    const bool viewable = x.dense() || x.can_reshape(shape);
    if (!viewable) return reshaped(dense(x), shape);
    return x.reshape(shape);
}

Tensor transposed(const Tensor &x, const std::vector<int> &permutation) {
    return x.transpose(permutation);
}

Tensor broadcast_view(const Tensor &x, const Shape &shape) {
    return x.expand(shape);
}

Tensor window_of(const Tensor &x, const Window &w) {
    return recorded(x, window(x, w),
                    [from = x.shape(), w](const Tensor &dy) { return embedded(dy, from, w); });
}

Tensor embedded(const Tensor &y, const Shape &shape, const Window &w) {
    Tensor x = Tensor::zeros(shape, y.dtype());
    window(x, w).assign(y);
    return recorded(y, std::move(x), [w](const Tensor &dx) { return window_of(dx, w); });
}

Tensor diagonal_of(const Tensor &x, const Diagonal &d) {
    return recorded(x, diagonal(x, d),
                    [from = x.shape(), d](const Tensor &dy) { return on_diagonal(dy, from, d); });
}

Tensor on_diagonal(const Tensor &y, const Shape &shape, const Diagonal &d) {
    Tensor x = Tensor::zeros(shape, y.dtype());
    diagonal(x, d).assign(y);
    return recorded(y, std::move(x), [d](const Tensor &dx) { return diagonal_of(dx, d); });
}

Tensor sum_to(const Tensor &x, const Shape &shape, const char *op) {
    if (x.shape() == shape) return x;
    const int lead = x.rank() - shape.rank();
    bool fits = lead >= 0;
    Ints axes;
    for (int d = 0; fits && d < x.rank(); d++) {
        const int64_t to = d < lead ? 1 : shape[d - lead];
        if (d < lead || (to == 1 && x.shape()[d] != 1))
            axes.push_back(d);
        else
            fits = to == x.shape()[d];
    }
    if (!fits) {
        throw GradError(op, "a gradient has shape " + x.shape().text() + ", which doesn't sum to " +
                                shape.text());
    }
    return reshaped(F::reduce_sum(x, axes, true), shape);
}

}  // namespace halyard
