#include "tools/export/runtime/host.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <sstream>

#include "registry/base/error.h"
#include "registry/dispatch/dispatch.h"
#include "registry/dispatch/planner.h"
#include "registry/op/op_files.h"
#include "registry/op/shape_binder.h"
#include "tools/export/runtime/composed_shapes.h"
#include "tools/export/runtime/composer.h"

namespace halyard::host {

const Registry &ops() {
    static Registry &all = []() -> Registry & {
        registry().add(op_files());
        return registry();
    }();
    return all;
}

const std::string &library_name() {
    static const std::string &name = op_files().front()->name;
    return name;
}

const RegisteredOp *differentiated_by(const RegisteredOp &op) {
    if (op.record.form != Form::composite) return nullptr;
    static const auto &forward_ops = *new std::map<const RegisteredOp *, const RegisteredOp *>([] {
        std::map<const RegisteredOp *, const RegisteredOp *> all;
        for (const RegisteredOp *gradient : ops().ops())
            for (const RegisteredOp *forward : ops().ops())
                if (gradient->signature.differentiates(forward->signature)) all[gradient] = forward;
        return all;
    }());
    const auto found = forward_ops.find(&op);
    return found == forward_ops.end() ? nullptr : found->second;
}

size_t input_like_output(const RegisteredOp &gradient, size_t k) {
    const std::vector<TensorSpec> &inputs = gradient.signature.inputs;
    const std::string &name = gradient.signature.outputs[k].name;
    const auto found = std::ranges::find(inputs, name.substr(1), &TensorSpec::name);
    return size_t(found - inputs.begin());
}

namespace {

std::vector<Tensor> composed(const RegisteredOp &op, std::span<const Tensor> in,
                             const Attrs &attrs) {
    if (!composer().run) throw DispatchError(op.record.name, "has no kernel in this library");
    return composer().run(op, in, attrs);
}

// Returns the shapes of the inputs whose gradients these are. The gradients in outputs must have
// the outputs' shapes.
std::vector<TensorMeta> infer_gradient(const RegisteredOp &forward, const RegisteredOp &gradient,
                                       const std::vector<TensorMeta> &in, const Attrs &attrs) {
    require_input_count(gradient.signature, in.size());
    const std::vector<TensorMeta> inputs(
        in.begin(), in.begin() + std::ptrdiff_t(forward.signature.inputs.size()));
    const std::vector<TensorMeta> outputs = infer(forward, inputs,
                                                  Attrs(forward.record, gradient.record, attrs));
    for (size_t k = inputs.size(); k < in.size(); k++) {
        const std::string &name = gradient.signature.inputs[k].name;
        for (size_t i = 0; i < outputs.size(); i++) {
            const std::string &output = forward.signature.outputs[i].name;
            if ((name != output && name != "d" + output) || in[k].shape == outputs[i].shape)
                continue;
            throw ShapeError(gradient.record.name, name + " has shape " + in[k].shape.text() +
                                                       ", expected " + outputs[i].shape.text() +
                                                       " as " + output);
        }
    }
    std::vector<TensorMeta> out;
    for (size_t k = 0; k < gradient.signature.outputs.size(); k++) {
        const TensorMeta &like = in[input_like_output(gradient, k)];
        out.push_back({like.dtype, like.shape, dense_strides(like.shape)});
    }
    return out;
}

std::vector<TensorMeta> tensor_metas_of(std::span<const Tensor> tensors) {
    std::vector<TensorMeta> all;
    for (const Tensor &t : tensors)
        all.push_back({t.dtype(), t.shape(), t.strides()});
    return all;
}

}  // namespace

void run_to(const RegisteredOp &op, std::span<const Tensor> in, const Attrs &attrs,
            OutputAllocator &outputs) {
    if (op.record.form != Form::composite) return dispatch_to(op, in, attrs, outputs);
    infer(op, tensor_metas_of(in), attrs);
    const std::vector<Tensor> results = composed(op, in, attrs);
    for (size_t k = 0; k < results.size(); k++)
        outputs.allocate(k, results[k].shape(), results[k].dtype()).assign(results[k]);
}

void run_into(const RegisteredOp &op, std::span<const Tensor> in, const Attrs &attrs,
              std::span<const Tensor> out) {
    if (op.record.form != Form::composite) return dispatch_into(op, in, attrs, out);
    const std::vector<TensorMeta> expected = infer(op, tensor_metas_of(in), attrs);
    for (size_t k = 0; k < out.size(); k++) {
        const std::string &name = op.signature.outputs[k].name;
        if (out[k].dtype() != expected[k].dtype) {
            throw DTypeError(op.record.name, name + " is " + name_of(out[k].dtype()) +
                                                 ", expected " + name_of(expected[k].dtype));
        }
        if (!(out[k].shape() == expected[k].shape)) {
            throw ShapeError(op.record.name, name + " has shape " + out[k].shape().text() +
                                                 ", expected " + expected[k].shape.text());
        }
    }
    const std::vector<Tensor> results = composed(op, in, attrs);
    for (size_t k = 0; k < out.size(); k++)
        out[k].assign(results[k]);
}

std::vector<TensorMeta> infer(const RegisteredOp &op, const std::vector<TensorMeta> &in,
                              const Attrs &attrs) {
    if (const RegisteredOp *const forward = differentiated_by(op))
        return infer_gradient(*forward, op, in, attrs);
    if (op.record.form == Form::composite) return infer_composed(op, in, attrs);
    std::vector<OperandMeta> metas;
    for (const TensorMeta &t : in)
        metas.push_back({t.dtype, t.shape, t.strides});
    const Plan plan = make_plan(op, metas, attrs);
    std::vector<TensorMeta> out;
    for (const Plan::Output &o : plan.outputs)
        out.push_back({o.dtype, o.shape, dense_strides(o.shape)});
    return out;
}

CallDTypes dtypes_of(const RegisteredOp &op, const std::string &set) {
    std::vector<std::string> bound;
    std::istringstream words(set);
    for (std::string word; std::getline(words, word, ',');)
        bound.push_back(word);
    std::map<std::string, DType> variables;
    const auto dtype = [&](const TensorSpec &t) {
        if (!is_type_variable(t.dtype)) return dtype_of(t.dtype);
        const size_t place = std::min(variables.size(), bound.size() - 1);
        return variables.emplace(t.dtype, dtype_of(bound[place])).first->second;
    };
    CallDTypes all;
    std::ranges::transform(op.signature.inputs, std::back_inserter(all.inputs), dtype);
    std::ranges::transform(op.signature.outputs, std::back_inserter(all.outputs), dtype);
    return all;
}

}  // namespace halyard::host
