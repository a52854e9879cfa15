// The rows of a call: results at one index of their leading dimensions, which follow from the
// operands at this index alone. A call of some rows gives the bits that a call of all rows has
// there, if it gets the same kernel; `halyard check` proves that of each op.
#pragma once
#include "registry/dispatch/registry.h"
#include "registry/op/attrs.h"
#include "registry/tensor/shape.h"

namespace halyard {

// Returns the extents of the results' leading dimensions that are those of rows: all of an
// elementwise call, those before the first reduced one of a reduction, and the ..g of other
// signatures, up to `axis`. Empty if the op has no rows. `out` is the shape of the first result.
Shape row_extents(const RegisteredOp &op, const Attrs &attrs, const std::vector<Shape> &in,
                  const Shape &out);

// Returns the dimension of input `k` that has the index of the results' dimension `d`; -1 if it has
// none, so that all rows read the same. Where its extent is 1, they do, too.
int row_dimension_of_input(const RegisteredOp &op, size_t k, const Shape &in, const Shape &out,
                           int d);

}  // namespace halyard
