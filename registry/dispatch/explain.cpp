#include "registry/dispatch/explain.h"

#include <algorithm>
#include <set>

namespace halyard {

int Explanation::chosen() const {
    for (size_t k = 0; k < plan.candidates.size(); k++)
        if (plan.candidates[k].refused.empty()) return int(k);
    return -1;
}

std::map<std::string, int64_t> Explanation::problem() const {
    std::map<std::string, int64_t> dims = plan.dims;
    for (const AttrSpec &a : plan.op->record.attrs) {
        for (auto &name : a.choices)
            dims.erase(name);
    }  // known to expressions only
    return dims;
}

Explanation explanation_of(const RegisteredOp &op, std::span<const Tensor> in, const Attrs &attrs) {
    std::vector<OperandMeta> metas;
    for (const Tensor &t : in)
        metas.push_back(meta_of(t));
    Explanation e{attrs.text(), make_plan(op, metas, attrs, true), {}, {}};
    for (size_t k = 0; k < in.size(); k++) {
        const Plan::Buffer &b = e.plan.inputs[k];
        if (b.copy_order.empty()) continue;
        const bool expanded = !(b.copy_shape == in[k].shape());
        const std::string why = expanded ? "no kernel broadcasts it: " + in[k].shape().text() +
                                               " is expanded to " + b.copy_shape.text()
                                         : "no kernel takes its strides " + in[k].strides().text();
        e.copies.push_back({true, k, why});
    }
    for (size_t k = 0; k < e.plan.outputs.size(); k++) {
        if (!e.plan.outputs[k].copy_order.empty())
            e.copies.push_back({false, k, "it is computed in another order"});
    }
    std::set<std::string> other;
    for (const KernelEntry &k : op.kernels)
        other.insert(k.dtypes);
    for (auto &c : e.plan.candidates)
        other.erase(c.kernel->dtypes);
    e.other_dtypes.assign(other.begin(), other.end());
    return e;
}

std::string label_of(const KernelEntry &k) {
    return k.backend + " " + k.dtypes + " " + (k.variant.empty() ? "(only variant)" : k.variant) +
           (k.backend == "cpu" ? std::string(" ") + name_of(k.isa) : "");
}

std::string text_of(const Explanation &e, const Note &copy_note, const Note &candidate_note) {
    const RegisteredOp &op = *e.plan.op;
    std::string s = op.record.name + ": " + op.record.signature +
                    "\n  attributes: " + e.attributes + "\n  problem:";
    for (auto &[name, value] : e.problem())
        s += " " + name + "=" + std::to_string(value);
    s += "\n";
    if (!e.plan.loops.empty()) s += "  outer loops: " + e.plan.loops.text() + "\n";
    if (e.plan.converted && e.plan.converted->simulated) {
        s += "  computed in f16, between conversions: precision_mode allows it where f32 has no "
             "program\n";
    } else if (e.plan.converted)
        s += "  computed in f32, between conversions: 16-bit floats have no kernels below avx2\n";
    if (!e.plan.stays_on_cpu.empty()) s += "  stays on the CPU: " + e.plan.stays_on_cpu + "\n";
    for (size_t k = 0; k < e.copies.size(); k++) {
        const auto &c = e.copies[k];
        s += "  copies " + (c.input ? op.signature.inputs : op.signature.outputs)[c.tensor].name +
             ": " + c.why + (copy_note ? copy_note(k) : "") + "\n";
    }
    for (size_t k = 0; k < e.plan.candidates.size(); k++) {
        const auto &c = e.plan.candidates[k];
        const bool choice = int(k) == e.chosen();
        s += std::string(choice ? "  -> " : "     ") + label_of(*c.kernel) +
             (choice              ? ": chosen"
              : c.refused.empty() ? ": fits, ranked lower"
                                  : ": " + c.refused);
        if (choice) {
            for (auto &[name, value] : c.kernel->tunables)
                s += " " + name + "=" + std::to_string(value);
        }
        s += (candidate_note ? candidate_note(k) : "") + "\n";
    }
    if (!e.other_dtypes.empty()) s += "  kernels for other dtypes:";
    for (auto &d : e.other_dtypes)
        s += " " + d;
    return s + (e.other_dtypes.empty() ? "" : "\n");
}

std::string explain(const RegisteredOp &op, std::span<const Tensor> in, const Attrs &attrs) {
    return text_of(explanation_of(op, in, attrs));
}

}  // namespace halyard
