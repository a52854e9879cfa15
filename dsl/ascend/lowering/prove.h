// Proof of an index map: what affine() found is compared with the expression, point by point.
#pragma once
#include "dsl/ascend/lowering/affine.h"

namespace halyard::ascend {

inline constexpr int64_t max_points = 65536;  // of larger nests, every so manieth

// Throws Error where `index` isn't base + strides at a point of the nest, for the least and the
// greatest value of each outer variable.
void prove(const Halide::Expr &index, const std::vector<Loop> &loops, const Affine &a,
           const std::map<std::string, std::pair<int64_t, int64_t>> &bounds);

}  // namespace halyard::ascend
