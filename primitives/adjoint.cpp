#include "primitives/adjoint.h"

#include <algorithm>
#include <unordered_map>

namespace halyard {
namespace {

int place_of(const std::vector<TensorSpec> &tensors, const std::string &name) {
    for (size_t k = 0; k < tensors.size(); k++)
        if (tensors[k].name == name) return (int)k;
    return -1;
}

Adjoint resolve(const RegisteredOp &op, const std::string &input) {
    Adjoint a;
    const std::vector<std::string> &known = op.gradient_inputs;
    if (std::find(known.begin(), known.end(), input) == known.end()) return a;
    a.op = &registry().at(op.record.name + "_d" + input);
    const Signature &s = op.signature;
    for (const TensorSpec &t : a.op->signature.inputs) {
        const int in = place_of(s.inputs, t.name), out = place_of(s.outputs, t.name);
        if (in >= 0) a.inputs.push_back({Adjoint::forward, in});
        else if (out >= 0) a.inputs.push_back({Adjoint::forward, (int)s.inputs.size() + out});
        else if (const int k = t.name[0] == 'd' ? place_of(s.outputs, t.name.substr(1)) : -1; k >= 0) a.inputs.push_back({Adjoint::gradient, k});
        else throw GradError(a.op->record.name, "input " + t.name + " is no input or output of " + op.record.name + ", nor the gradient of an output");
    }
    return a;
}

}  // namespace

const std::vector<Adjoint> &adjoints_of(const RegisteredOp &op) {
    struct Known {
        size_t gradients = 0;  // when it was resolved: ops may be added later
        std::vector<Adjoint> adjoints;
    };
    thread_local std::unordered_map<const RegisteredOp *, Known> cache;
    Known &k = cache[&op];
    if (k.adjoints.empty() || k.gradients != op.gradient_inputs.size()) {
        std::vector<Adjoint> all;
        for (const TensorSpec &t : op.signature.inputs) all.push_back(resolve(op, t.name));
        k = {op.gradient_inputs.size(), std::move(all)};
    }
    return k.adjoints;
}

bool is_cast(const RegisteredOp &op) { return op.record.name == "cast"; }

}  // namespace halyard
