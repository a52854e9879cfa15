// Order within rows: what is found by comparing elements, which the loops of a kernel don't say.
//
// One total order serves all: NaN of either sign comes after every number (as in NumPy and
// PyTorch), -0 equals +0, and equal elements stand in the order of their places. Each result is
// determined by it, whatever the threads and the instruction set. Descending turns the order of the
// elements around (NaN first), not that of equal ones' places.
#pragma once
#include "registry/tensor/tensor.h"

namespace halyard {

// Of x[n,c], dense: elements with their places (i32) in their rows. Values are x's own bits, the
// sign of a zero and NaN's payload included.
struct Ordered {
    Tensor values, places;
};

// The first k of each row in order, both [n,k]; 0 <= k <= c. All of them, k = c: the sorted row.
Ordered first_in_order(const Tensor &x, int64_t k, bool descending);
// The k-th of each row in ascending order, both [n]; 0 <= k < c. In a row with NaN: the first of
// them.
Ordered nth_in_order(const Tensor &x, int64_t k);

}  // namespace halyard
