// Canonical form: the few strided dimensions that a kernel iterates, made from the caller's tensors
// without a copy.
//
// All tensors of a call get strides along one iteration space; the stride is 0 where a tensor is
// broadcast. Neighbouring dimensions that are contiguous in all tensors are merged. The innermost
// ones become the kernel's dimensions, and the others become outer loops around the kernel.
#pragma once
#include <vector>

#include "registry/op/attrs.h"
#include "registry/op/op_record.h"
#include "registry/op/signature.h"
#include "registry/tensor/shape.h"

namespace halyard {

struct Layout {
    Shape shape, strides;  // the kernel's dimensions, outermost first
    Shape outer;           // strides of the outer loops
};

struct Canonical {
    std::vector<Layout> inputs;
    Shape loops;                       // extents of the outer loops; empty = one call
    std::vector<Shape> output_shapes;  // the caller's
    std::vector<Layout> outputs;
    bool needs_copies = false;  // there is no such form of these strides
};

struct Operand {
    Shape shape, strides;
};

// The form of x[*] signatures. `extents` is the broadcast shape of the inputs; the outputs are
// dense tensors of that shape.
Canonical canonical_elementwise(const Signature &sig, const std::vector<Operand> &in, Shape extents,
                                int kernel_rank);

// The form of signatures x[o,r,i,s] -> y[o,i]: `axes` (empty for all) of the full tensors are
// reduced. When kept and reduced dimensions alternate more often than in o r i s, `needs_copies` is
// set. The full tensors must then be copied, dense in the order kept_first(), which is passed as
// `order` the next time.
Canonical canonical_reduction(const OpRecord &op, const Signature &sig,
                              const std::vector<Operand> &in, const Ints &axes, bool keep_dims,
                              const std::vector<int> &order = {});
// Returns all dimensions, kept ones before reduced ones.
std::vector<int> kept_first(const OpRecord &op, const Ints &axes, int rank);
// Returns the strides of a tensor that is dense with its dimensions in `order`.
Shape strides_in_order(const Shape &shape, const std::vector<int> &order);

// Removes dimensions of extent 1 and merges neighbours that are contiguous in every list of
// strides. With `classes`, only dimensions of equal class are merged.
void merge_dimensions(Shape &extents, std::vector<Shape> &strides,
                      std::vector<int> *classes = nullptr);

}  // namespace halyard
