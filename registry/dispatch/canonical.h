// Canonical form: how the tensors of a call become the few strided dimensions that its kernel has.
// Nothing is copied.
//
// Every form works the same way: all tensors are laid over one iteration space (stride 0 where a
// tensor doesn't move), neighbouring dimensions that all of them walk as one are merged, the
// innermost ones become the kernel's dimensions and what is left over becomes outer loops around
// the kernel.
#pragma once
#include <vector>

#include "registry/op/attrs.h"
#include "registry/op/op_record.h"
#include "registry/op/signature.h"
#include "registry/tensor/shape.h"

namespace halyard {

struct Layout {
    Shape shape, strides;  // what a kernel sees, outermost first
    Shape outer;           // strides of the outer loops
};

struct Canonical {
    std::vector<Layout> inputs;
    Shape loops;  // extents of the outer loops; empty = one call
    // An output's shape as the caller sees it, from its kernel extents; and its layout once it has
    // strides.
    std::vector<Shape> output_shapes;
    std::vector<Layout> outputs;
    bool needs_copies = false;
};

struct Operand {
    Shape shape, strides;
};

// x[*]: NumPy broadcasting. The outputs are dense tensors of the broadcast shape.
Canonical canonical_elementwise(const OpRecord &op, const Signature &sig,
                                const std::vector<Operand> &in, int kernel_rank);

// x[o,r,i,s] with y[o,i]: `axes` (empty = all) of the full tensors are reduced. Where kept and
// reduced dimensions alternate more often than o r i s do, `needs_copies` is set: plan again with
// `order` = kept dimensions first, in which the full tensors must then lie.
Canonical canonical_reduction(const OpRecord &op, const Signature &sig,
                              const std::vector<Operand> &in, const Ints &axes, bool keep_dims,
                              const std::vector<int> &order = {});
std::vector<int> kept_first(const OpRecord &op, const Ints &axes, int rank);
// of a tensor that is dense with its dimensions in `order`
Shape strides_in_order(const Shape &shape, const std::vector<int> &order);

// Merges dimensions d-1 and d of every stride list where all agree; extents of 1 vanish. `classes`:
// only equal ones merge.
void merge_dimensions(Shape &extents, std::vector<Shape> &strides,
                      std::vector<int> *classes = nullptr);

}  // namespace halyard
