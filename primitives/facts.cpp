#include "primitives/facts.h"

#include "registry/op/names.h"
#include "registry/op/shape_binder.h"

namespace halyard {

Dims facts_of(std::span<const Tensor> in, const Attrs &attrs) {
    const OpRecord &op = attrs.op();
    Dims dims;
    bind_attributes(attrs, dims);
    check_conditions(op, dims, false);
    std::vector<Shape> shapes;
    for (const Tensor &t : in)
        shapes.push_back(t.shape());
    ShapeBinder(op, find_op(op.name.c_str()).signature, shapes, dims).bind(shapes);
    check_conditions(op, dims, true);
    return dims;
}

}  // namespace halyard
