// Converts indices as callers give them to what kernels read: checked, and counted from the start.
#pragma once
#include <optional>
#include <string>

#include "registry/tensor/tensor.h"

namespace halyard {

// Returns `indices` of an axis of n, in their order, as i32[elements]. Negative ones count from the
// end. Throws ShapeError for one outside of [-n, n): "[gather] index 1 is 2, expected -2 to 1".
Tensor places_of(const std::string &op, const Tensor &indices, int64_t n);

// Returns `labels` as i32, dense. A label is the number of a class; none counts from the end.
// Throws ShapeError for one outside of [0, classes) that isn't `ignored`: "[cross_entropy] target 1
// is 7, expected 0 to 2, or ignore_index -100".
Tensor labels_of(const std::string &op, const std::string &name, const Tensor &labels,
                 int64_t classes, std::optional<int64_t> ignored = {});

// `index` as i32, dense, of elements x[.., index[.., k, ..], ..] along `axis` of an x of `shape`;
// negative ones stay. Throws ShapeError where index has another rank, is larger than x along
// another axis, or an index is out of range.
struct Indices {
    Tensor at;
    bool some_negative;
};
Indices indices_along(const std::string &op, const Tensor &index, const Shape &shape, int axis);

// Where in a dense tensor of `shape` the elements stand that gather_elements and scatter mean:
// index[.., k, ..] along `axis`, the place of index itself along all others. Throws as
// indices_along().
Tensor places_along(const std::string &op, const Tensor &index, const Shape &shape, int axis);

// The last dimension of `indices` names elements, or whole slices where it is shorter than `shape`:
// their numbers, in order. Throws ShapeError where it is longer, or an index is out of range.
Tensor places_nd(const std::string &op, const Tensor &indices, const Shape &shape);

}  // namespace halyard
