#include "primitives/autograd/adjoint.h"

#include <algorithm>
#include <unordered_map>

#include "primitives/composites/composite.h"

namespace halyard {
namespace {

int place_of(const std::vector<TensorSpec> &tensors, const std::string &name) {
    for (size_t k = 0; k < tensors.size(); k++)
        if (tensors[k].name == name) return int(k);
    return -1;
}

Adjoint::Source source_of(const RegisteredOp &op, const std::string &name, const std::string &who) {
    const Signature &s = op.signature;
    if (const int in = place_of(s.inputs, name); in >= 0) return {Adjoint::forward, in};
    if (const int out = place_of(s.outputs, name); out >= 0)
        return {Adjoint::forward, int(s.inputs.size()) + out};
    if (const int k = name[0] == 'd' ? place_of(s.outputs, name.substr(1)) : -1; k >= 0)
        return {Adjoint::gradient, k};
    throw GradError(who, "input " + name + " is no input or output of " + op.record.name +
                             ", nor the gradient of an output");
}

// Returns true for dy of an elementwise gradient kernel: such a kernel is linear in dy, and so its
// own adjoint in dy.
bool is_self_adjoint(const RegisteredOp &op, const std::string &input) {
    return op.record.internal && op.record.form == Form::elementwise && input == "dy";
}

Tensor run_op(std::span<const Tensor> in, const RegisteredOp &op, const Attrs &attrs) {
    return std::move(Primitive(op, attrs).run(in)[0]);
}

Adjoint resolve(const RegisteredOp &op, const std::string &input) {
    Adjoint a;
    const std::string &name = op.record.name;
    if (const ComposedGradient *composed = composed_gradient(name, input)) {
        a.compose = composed->compose;
        for (const std::string &from : composed->from)
            a.inputs.push_back(source_of(op, from, name));
    } else if (std::find(op.gradient_inputs.begin(), op.gradient_inputs.end(), input) !=
               op.gradient_inputs.end()) {
        const GradientOp g = registry().gradient_in(op, input);
        a.op = g.op;
        a.output = g.output;
        for (const TensorSpec &t : a.op->signature.inputs)
            a.inputs.push_back(source_of(op, t.name, a.op->record.name));
    } else if (is_self_adjoint(op, input)) {
        a.compose = run_op;
        for (const TensorSpec &t : op.signature.inputs) {
            a.inputs.push_back(
                source_of(op, t.name == input ? "d" + op.signature.outputs[0].name : t.name, name));
        }
    }
    return a;
}

}  // namespace

const std::vector<Adjoint> &adjoints_of(const RegisteredOp &op) {
    struct Resolved {
        size_t gradients = 0;  // the op's gradient ops at that time: ops may be added later
        std::vector<Adjoint> adjoints;
    };
    thread_local std::unordered_map<const RegisteredOp *, Resolved> cache;
    Resolved &k = cache[&op];
    if (k.adjoints.empty() || k.gradients != op.gradient_inputs.size()) {
        std::vector<Adjoint> all;
        for (const TensorSpec &t : op.signature.inputs)
            all.push_back(resolve(op, t.name));
        k = {op.gradient_inputs.size(), std::move(all)};
    }
    return k.adjoints;
}

}  // namespace halyard
