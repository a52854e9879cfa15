// Copies that touch memory several times do so a few rows after the other, so that it is still in the cache.
#pragma once
#include <algorithm>

#include "registry/tensor.h"

namespace halyard {

// what(some) for a few of the first dimension's rows of a tensor of `shape` at a time: some(t) are the same rows of another tensor t
// that has as many. `apart` = false: all of them at once.
template<class F> void by_rows(const Shape &shape, bool apart, F what) {
    constexpr int64_t elements_each = 1 << 17;
    const int64_t rows = apart && shape.rank() > 0 && shape.elements() > 0 ? shape[0] : 1;
    const int64_t each = std::max<int64_t>(1, elements_each / std::max<int64_t>(1, shape.elements() / rows));
    for (int64_t row = 0; row < rows; row += each) what([&, row](const Tensor &t) { return rows == 1 ? t : t.slice(0, row, std::min(row + each, rows)); });
}

}  // namespace halyard
