// Copies that touch memory several times do so a few rows after the other, so that it is still in
// the cache, on all threads.
#pragma once
#include <algorithm>

#include "registry/base/parallel.h"
#include "registry/tensor/tensor_methods.h"

namespace halyard {

// what(some) for a few of the first dimension's rows of a tensor of `shape` at a time: some(t) are
// the same rows of another tensor t that has as many. `apart` = false: all of them at once. Calls
// run side by side.
template<class F> void by_rows(const Shape &shape, bool apart, F what) {
    if (call_listener()) {  // which hears the copies of this thread
        const UnrecordedMethods rows_of_a_copy;
        return what([](const Tensor &t) { return t; });
    }
    constexpr int64_t elements_each = 1 << 17;
    const int64_t rows = apart && shape.rank() > 0 && shape.elements() > 0 ? shape[0] : 1;
    const int64_t each = std::max<int64_t>(1, elements_each /
                                                  std::max<int64_t>(1, shape.elements() / rows));
    parallel_for(0, (rows + each - 1) / each, [&](int64_t block) {
        const UnrecordedMethods rows_of_a_copy;  // which its caller records as a whole
        const int64_t first = block * each;
        const int64_t end = std::min(first + each, rows);
        what([&](const Tensor &t) { return rows == 1 ? t : t.slice(0, first, end); });
    });
}

}  // namespace halyard
