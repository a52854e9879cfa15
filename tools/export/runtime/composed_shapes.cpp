#include "tools/export/runtime/composed_shapes.h"

#include "registry/op/names.h"
#include "registry/op/shape_binder.h"

namespace halyard::host {
namespace {

// Returns the dtype of an output of a composite.
DType dtype_of_output(const RegisteredOp &op, const TensorSpec &output,
                      const std::vector<TensorMeta> &in, const Attrs &attrs) {
    if (!is_type_variable(output.dtype)) return dtype_of(output.dtype);
    for (size_t k = 0; k < in.size(); k++)
        if (op.signature.inputs[k].dtype == output.dtype) return in[k].dtype;
    return static_cast<DType>(attrs.integer(size_t(attrs.find("dtype"))));
}

}  // namespace

std::vector<TensorMeta> infer_composed(const RegisteredOp &op, const std::vector<TensorMeta> &in,
                                       const Attrs &attrs) {
    require_input_count(op.signature, in.size());
    Dims dims;
    bind_attributes(attrs, dims);
    check_conditions(op.record, dims, false);
    std::vector<Shape> shapes;
    for (const TensorMeta &t : in)
        shapes.push_back(t.shape);
    ShapeBinder binder(op.record, op.signature, shapes, dims);
    binder.bind(shapes);
    check_conditions(op.record, dims, true);
    std::vector<TensorMeta> out;
    for (size_t k = 0; k < op.signature.outputs.size(); k++) {
        const Shape shape = binder.output(k);
        out.push_back(
            {dtype_of_output(op, op.signature.outputs[k], in, attrs), shape, dense_strides(shape)});
    }
    return out;
}

}  // namespace halyard::host
