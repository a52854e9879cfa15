#include "graph/view.h"

#include <optional>

#include "registry/tensor/view_strides.h"

namespace halyard::graph {

View reshaped(View v, const Shape &shape) {
    v.shape = shape;
    v.strides = dense_strides(shape);
    return v;
}

bool is_dense(const View &v) {
    return v.buffer >= 0 && halyard::is_dense(v.shape, v.strides);
}

bool is_whole(const View &v, const Buffer &b) {
    return v.offset == 0 && is_dense(v) &&
           b.bytes == size_t(v.shape.elements()) * bytes_of(v.dtype);
}

ByteRange range_of(const View &v) {
    int64_t last = 0;
    for (int d = 0; d < v.shape.rank(); d++) {
        if (v.shape[d] == 0) return {v.offset, v.offset};
        last += (v.shape[d] - 1) * v.strides[d];
    }
    return {v.offset, v.offset + (last + 1) * int64_t(bytes_of(v.dtype))};
}

namespace {

bool have_common(ByteRange a, ByteRange b) {
    return a.begin < b.end && b.begin < a.end;
}

// Returns the place that a view has in each period of so many bytes, from 0 to the period. Returns
// nothing if it hasn't the same place in each.
std::optional<ByteRange> place_in(int64_t period, const View &v) {
    const auto size = int64_t(bytes_of(v.dtype));
    const int64_t begin = (v.offset % period + period) % period;
    int64_t end = begin + size;
    for (int d = 0; d < v.shape.rank(); d++) {
        const int64_t stride = v.strides[d] * size;
        if (v.shape[d] <= 1 || stride % period == 0) continue;
        if (stride < 0) return std::nullopt;
        end += (v.shape[d] - 1) * stride;
    }
    if (end > period) return std::nullopt;
    return ByteRange{begin, end};
}

bool lie_beside_each_other(const View &a, const View &b) {
    for (int d = 0; d < a.shape.rank(); d++) {
        const int64_t period = a.strides[d] * int64_t(bytes_of(a.dtype));
        if (a.shape[d] <= 1 || period <= 0) continue;
        const std::optional<ByteRange> of_a = place_in(period, a);
        const std::optional<ByteRange> of_b = place_in(period, b);
        if (of_a && of_b && !have_common(*of_a, *of_b)) return true;
    }
    return false;
}

}  // namespace

bool may_overlap(const View &a, const View &b) {
    return a.buffer == b.buffer && have_common(range_of(a), range_of(b)) &&
           !lie_beside_each_other(a, b);
}

}  // namespace halyard::graph
