#include "primitives/facts.h"

#include "registry/dispatch/plan.h"
#include "registry/op/names.h"

namespace halyard {

Dims facts_of(std::span<const Tensor> in, const Attrs &attrs) {
    const OpRecord &op = attrs.op();
    Dims dims;
    bind_attributes(attrs, dims);
    check_conditions(op, dims, false);
    Signature inputs = find_op(op.name.c_str()).signature;
    // The outputs' extents may need lets, which are bound after the inputs' extents.
    inputs.outputs.clear();
    std::vector<Shape> shapes;
    for (const Tensor &t : in)
        shapes.push_back(t.shape());
    inputs.infer_into(shapes, dims);
    bind_derived(op, dims);
    check_conditions(op, dims, true);
    return dims;
}

}  // namespace halyard
