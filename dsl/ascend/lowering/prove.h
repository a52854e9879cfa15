// Proves an index map: compares the result of affine() with the index expression, point by point.
#pragma once
#include "dsl/ascend/lowering/affine.h"

namespace halyard::ascend {

inline constexpr int64_t max_points = 65536;  // the largest number of points that are compared

// Throws Error if `index` differs from base + strides at a point of the nest, for the minimum or
// the maximum of the outer variables.
void prove(const Halide::Expr &index, const std::vector<Loop> &loops, const Affine &a,
           const std::map<std::string, std::pair<int64_t, int64_t>> &bounds);

}  // namespace halyard::ascend
