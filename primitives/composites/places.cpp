#include "primitives/composites/places.h"

#include <algorithm>
#include <cstring>

#include "primitives/composites/host_steps.h"
#include "registry/base/error.h"
#include "registry/base/parallel.h"
#include "registry/tensor/host_step.h"

namespace halyard {
namespace {

constexpr int64_t parallel_places = 1 << 16;  // below, a second thread costs more than it saves

// Converts indices of any integer dtype to i32. Those that don't fit stay outside of every range.
Tensor narrowed(const std::string &op, const Tensor &indices, const std::string &name = "indices") {
    if (indices.dtype() == DType::i32) return indices.contiguous();
    if (!is_integer(indices.dtype()))
        throw DTypeError(op, name + " are " + name_of(indices.dtype()) + ", expected i32 or i64");
    if (indices.dtype() != DType::i64) return indices.to(DType::i32);
    const Tensor wide = indices.contiguous();
    const Tensor t = Tensor::empty(indices.shape(), DType::i32);
    std::transform(wide.values<int64_t>(), wide.values<int64_t>() + wide.elements(),
                   t.data<int32_t>(),
                   [](int64_t i) { return int32_t(std::clamp<int64_t>(i, INT32_MIN, INT32_MAX)); });
    return t;
}

[[noreturn]] void out_of_range(const std::string &op, const Tensor &indices, int64_t at,
                               int64_t n) {
    const int64_t index = indices.contiguous().to(DType::i64).values<int64_t>()[at];
    throw ShapeError(op, "index " + std::to_string(at) + " is " + std::to_string(index) +
                             ", expected " + std::to_string(-n) + " to " + std::to_string(n - 1));
}

// Returns the minimum and the maximum of at[0], at[1], ... in explicit vectors, because the
// compiler doesn't vectorise the plain loop.
struct Range {
    int32_t min = INT32_MAX;
    int32_t max = INT32_MIN;
};
Range range_of(const int32_t *at, int64_t count) {
    constexpr int lanes = 16;
    typedef int32_t Vector __attribute__((vector_size(lanes * sizeof(int32_t))));
    Vector min = Vector{} + INT32_MAX;
    Vector max = Vector{} + INT32_MIN;
    int64_t k = 0;
    for (; k + lanes <= count; k += lanes) {
        Vector v;
        std::memcpy(&v, at + k, sizeof v);
        min = v < min ? v : min;
        max = v > max ? v : max;
    }
    Range r;
    for (int l = 0; l < lanes; l++) {
        r.min = std::min(r.min, min[l]);
        r.max = std::max(r.max, max[l]);
    }
    for (; k < count; k++) {
        r.min = std::min(r.min, at[k]);
        r.max = std::max(r.max, at[k]);
    }
    return r;
}

// Throws ShapeError unless range_of() these indices is within an axis of n.
Range checked_range(const std::string &op, const Tensor &indices, const int32_t *at, int64_t count,
                    int64_t n) {
    const Range r = range_of(at, count);
    if (count == 0 || (r.min >= -n && r.max < n)) return r;
    out_of_range(op, indices,
                 std::find_if(at, at + count, [&](int32_t i) { return i < -n || i >= n; }) - at, n);
}

// Calls body(begin, end) over [0, count), on several threads if there is enough to do.
template<class Body> void in_shares(int64_t count, int64_t work, Body body) {
    const int64_t shares = work < parallel_places ? 1 : std::min<int64_t>(count, 4 * threads());
    if (shares <= 1) return body(0, count);
    parallel_for(0, shares, [&](int64_t s) { body(count * s / shares, count * (s + 1) / shares); });
}

}  // namespace

namespace {

Tensor checked_places(const std::string &op, const Tensor &indices, int64_t n) {
    const Tensor given = narrowed(op, indices);
    const int64_t count = given.elements();
    const int32_t *at = given.values<int32_t>();
    if (checked_range(op, indices, at, count, n).min >= 0) return given.reshape({count});
    const Tensor places = Tensor::empty({count}, DType::i32);
    std::transform(at, at + count, places.data<int32_t>(),
                   [n](int32_t i) { return i < 0 ? i + int32_t(n) : i; });
    return places;
}

Tensor checked_labels(const std::string &op, const std::string &name, const Tensor &labels,
                      int64_t classes, std::optional<int64_t> ignored) {
    const Tensor given = narrowed(op, labels, name);
    const auto check = [&]<class T>(const T *at) {
        const auto fits = [&](int64_t label) {
            return (label >= 0 && label < classes) || label == ignored;
        };
        for (int64_t k = 0; k < given.elements(); k++) {
            if (fits(int64_t(at[k]))) continue;
            std::string expected = classes > 0 ? "0 to " + std::to_string(classes - 1) : "none";
            if (ignored) expected += ", or ignore_index " + std::to_string(*ignored);
            throw ShapeError(op, name + " " + std::to_string(k) + " is " + std::to_string(at[k]) +
                                     ", expected " + expected);
        }
    };
    if (labels.dtype() == DType::i64)
        check(labels.contiguous().values<int64_t>());
    else
        check(given.values<int32_t>());
    return given;
}

}  // namespace

Tensor places_of(const std::string &op, const Tensor &indices, int64_t n) {
    const host_steps::PlacesOf step{op, n};
    return run_on_host(step.name, std::span(&indices, 1), step)[0];
}

Tensor labels_of(const std::string &op, const std::string &name, const Tensor &labels,
                 int64_t classes, std::optional<int64_t> ignored) {
    const host_steps::LabelsOf step{op, name, classes, ignored};
    return run_on_host(step.name, std::span(&labels, 1), step)[0];
}

namespace {

Indices checked_indices(const std::string &op, const Tensor &index, const Shape &shape, int axis) {
    const Shape s = index.shape();
    if (s.rank() != shape.rank()) {
        throw ShapeError(op, "index has rank " + std::to_string(s.rank()) + ", expected " +
                                 std::to_string(shape.rank()) + " as x");
    }
    for (int d = 0; d < s.rank(); d++) {
        if (d != axis && s[d] > shape[d]) {
            throw ShapeError(op, "index dimension " + std::to_string(d) + " is " +
                                     std::to_string(s[d]) + ", expected at most " +
                                     std::to_string(shape[d]) + " from x" + shape.text());
        }
    }
    const Tensor given = narrowed(op, index);
    const Range r = checked_range(op, index, given.values<int32_t>(), given.elements(),
                                  shape[axis]);
    return {given, given.elements() > 0 && r.min < 0};
}

}  // namespace

// Indices that a captured graph reads in a later run may be negative where these are not.
Indices indices_along(const std::string &op, const Tensor &index, const Shape &shape, int axis) {
    if (!call_listener()) return checked_indices(op, index, shape, axis);
    const host_steps::IndicesAlong step{op, shape, axis};
    return {run_on_host(step.name, std::span(&index, 1), step)[0], true};
}

namespace {

Tensor checked_places_along(const std::string &op, const Tensor &index, const Shape &shape,
                            int axis) {
    const Tensor given = checked_indices(op, index, shape, axis).at;
    const Tensor places = Tensor::empty({index.elements()}, DType::i32);
    const Shape s = index.shape();
    const int32_t *at = given.values<int32_t>();
    const int64_t n = shape[axis];
    const int64_t count = given.elements();
    if (count == 0) return places;

    // A row is along the last dimension; its start in x depends on the other dimensions.
    const Shape strides = dense_strides(shape);
    const int last = s.rank() - 1;
    const int64_t length = s[last];
    const int64_t rows = count / length;
    const int64_t step = strides[axis];
    in_shares(rows, count, [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; row++) {
            int64_t start = 0;
            int64_t rest = row;
            for (int d = last; d-- > 0; rest /= s[d])
                if (d != axis) start += rest % s[d] * strides[d];
            const int32_t *from = at + row * length;
            int32_t *to = places.data<int32_t>() + row * length;
            const int across = axis == last ? 0 : 1;
            for (int64_t k = 0; k < length; k++)
                to[k] = int32_t(start + k * across + (from[k] < 0 ? from[k] + n : from[k]) * step);
        }
    });
    return places;
}

Tensor checked_places_nd(const std::string &op, const Tensor &indices, const Shape &shape) {
    if (indices.rank() == 0) throw ShapeError(op, "indices have rank 0, expected at least 1");
    const int64_t depth = indices.shape()[indices.rank() - 1];
    if (depth > shape.rank() || depth == 0) {
        throw ShapeError(op, "indices' last dimension is " + std::to_string(depth) +
                                 ", expected 1 to " + std::to_string(shape.rank()) + " for x" +
                                 shape.text());
    }
    const Tensor given = narrowed(op, indices);
    const Tensor places = Tensor::empty({given.elements() / depth}, DType::i32);
    const int32_t *at = given.values<int32_t>();
    for (int64_t k = 0; k < places.elements(); k++) {
        int64_t place = 0;
        for (int64_t d = 0; d < depth; d++) {
            const int64_t n = shape[int(d)];
            const int64_t i = at[k * depth + d];
            if (i < -n || i >= n) out_of_range(op, indices, k * depth + d, n);
            place = place * n + (i < 0 ? i + n : i);
        }
        places.data<int32_t>()[k] = int32_t(place);
    }
    return places;
}

}  // namespace

Tensor places_along(const std::string &op, const Tensor &index, const Shape &shape, int axis) {
    const host_steps::PlacesAlong step{op, shape, axis};
    return run_on_host(step.name, std::span(&index, 1), step)[0];
}

Tensor places_nd(const std::string &op, const Tensor &indices, const Shape &shape) {
    const host_steps::PlacesNd step{op, shape};
    return run_on_host(step.name, std::span(&indices, 1), step)[0];
}

namespace host_steps {

std::vector<Tensor> PlacesOf::operator()(std::span<const Tensor> in) const {
    return {checked_places(op, in[0], n)};
}
std::vector<Tensor> LabelsOf::operator()(std::span<const Tensor> in) const {
    return {checked_labels(op, labels, in[0], classes, ignored)};
}
std::vector<Tensor> IndicesAlong::operator()(std::span<const Tensor> in) const {
    return {checked_indices(op, in[0], shape, axis).at};
}
std::vector<Tensor> PlacesAlong::operator()(std::span<const Tensor> in) const {
    return {checked_places_along(op, in[0], shape, axis)};
}
std::vector<Tensor> PlacesNd::operator()(std::span<const Tensor> in) const {
    return {checked_places_nd(op, in[0], shape)};
}

}  // namespace host_steps
}  // namespace halyard
