// Order within rows: results of comparisons, which the loops of a kernel can't express.
//
// All use one total order: NaN of either sign comes after every number (as in NumPy and PyTorch),
// -0 equals +0, and equal elements are in the order of their indices. So results don't depend on
// threads or the instruction set. Descending reverses the order of the elements (NaN comes first),
// but not that of the indices of equal elements.
#pragma once
#include "registry/tensor/tensor.h"

namespace halyard {

// Elements of a dense x[n,c] with their indices (i32) within the rows. Values have x's own bits,
// including the sign of a zero and the payload of a NaN.
struct Ordered {
    Tensor values, places;
};

// Returns the first k of each row in order, both [n,k], 0 <= k <= c. With k = c it is the sorted
// row.
Ordered first_in_order(const Tensor &x, int64_t k, bool descending);
// Returns the k-th of each row in ascending order, both [n], 0 <= k < c. In a row with NaN it is
// the first NaN.
Ordered nth_in_order(const Tensor &x, int64_t k);

}  // namespace halyard
