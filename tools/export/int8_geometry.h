// Shapes, windows and padding of a graph's calls, as steps in integers have them.
#pragma once
#include <optional>
#include <vector>

#include "graph/graph.h"
#include "tools/export/int8_network.h"

namespace halyard::exporting {

// Return the call's extents and attributes; none for a form that isn't computed in integers: other
// layouts than NCHW, matmuls of batches or of a transposed a, means over other axes than rows and
// columns.
std::optional<Convolution> convolution_of(const graph::Node &conv2d);
std::optional<Convolution> matmul_of(const graph::Node &matmul);
std::optional<Pool> pool_of(const graph::Node &pool2d);
std::optional<Pool> mean_of(const graph::Node &reduce_mean);

// Returns true if a matmul's b is [k,o], not [o,k].
bool is_row_major(const graph::Node &matmul);
// Returns a dense f32[columns,rows] of a dense f32[rows,columns].
Tensor transposed(const Tensor &t);

// Returns true if each element of x is in at most one window, and windows have no padding.
bool is_partition(const Pool &pool);
// Returns true if each window of an avg_pool2d has all its elements and is divided by their number.
bool is_plain_average(const graph::Node &avg_pool2d, const Pool &pool);

// Returns a constant that is added to a result of this shape, [n,o] or [n,o,h,w], by channel; none
// if it isn't the same for all else.
std::optional<std::vector<double>> bias_of(const Tensor &constant, const Shape &result);

}  // namespace halyard::exporting
