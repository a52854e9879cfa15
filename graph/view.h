// The memory that views have.
#pragma once
#include <cstdint>
#include <limits>

#include "graph/graph.h"

namespace halyard::graph {

// Returns true if the view's elements lie one after the other, in row-major order.
bool is_dense(const View &v);

// Returns a dense view with another shape of as many elements.
View reshaped(View v, const Shape &shape);

// Returns true if the view has all elements of its buffer, in row-major order.
bool is_whole(const View &v, const Buffer &b);

struct ByteRange {
    int64_t begin = std::numeric_limits<int64_t>::max();
    int64_t end = std::numeric_limits<int64_t>::min();
};

// Returns the bytes from the view's first to its last element.
ByteRange range_of(const View &v);

// Returns false if the views have no byte in common: they are of different buffers, one ends before
// the other begins, or rows of one lie between rows of the other, as the parts of a concat do.
bool may_overlap(const View &a, const View &b);

}  // namespace halyard::graph
