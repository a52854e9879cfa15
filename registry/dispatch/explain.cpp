#include "registry/dispatch/explain.h"

#include <algorithm>
#include <map>
#include <set>

#include "registry/base/text.h"
#include "registry/dispatch/planner.h"
#include "registry/dispatch/simulated.h"

namespace halyard {

int Explanation::selected() const {
    for (size_t k = 0; k < plan.candidates.size(); k++)
        if (plan.candidates[k].rejection.empty()) return int(k);
    return -1;
}

Dims Explanation::problem() const {
    Dims dims = plan.dims;
    for (const AttrSpec &a : plan.op->record.attrs) {
        for (auto &name : a.choices)
            dims.erase(name);
    }
    return dims;
}

Explanation explanation_of(const RegisteredOp &op, std::span<const Tensor> in, const Attrs &attrs) {
    const std::vector<OperandMeta> metas = metas_of(in);
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
    const std::string device = k.backend == "ascend" ? simulated_device().chip() : k.backend;
    return device + " " + k.dtypes + " " + (k.variant.empty() ? "(unnamed variant)" : k.variant) +
           (k.backend == "cpu" ? std::string(" ") + name_of(k.isa) : "");
}

namespace {

// The first lines: the op, its problem and what its plan decided.
std::string text_of_plan(const Explanation &e) {
    const Plan &plan = e.plan;
    const OpRecord &record = plan.op->record;
    std::string s = record.name + ": " + record.signature + "\n  attributes: " + e.attributes +
                    "\n  problem:";
    for (const auto &[name, value] : e.problem())
        s += " " + name + "=" + std::to_string(value);
    s += "\n";
    if (!plan.loops.empty()) s += "  outer loops: " + plan.loops.text() + "\n";
    if (plan.converted && plan.converted->simulated) {
        s += "  computed in f16, between conversions: precision_mode allows it where f32 has no "
             "program\n";
    } else if (plan.converted) {
        s += "  computed in f32, between conversions: 16-bit floats have no kernels below avx2\n";
    }
    if (!plan.stays_on_cpu.empty()) s += "  stays on the CPU: " + plan.stays_on_cpu + "\n";
    return s;
}

std::string text_of_candidate(const Plan::Candidate &c, bool selected) {
    std::string s = (selected ? "  -> " : "     ") + label_of(*c.kernel);
    if (!selected) return s + (c.rejection.empty() ? ": fits, ranked lower" : ": " + c.rejection);
    s += ": chosen";
    for (const auto &[name, value] : c.kernel->tunables)
        s += " " + name + "=" + std::to_string(value);
    return s;
}

}  // namespace

std::string text_of(const Explanation &e, const Note &copy_note, const Note &candidate_note) {
    const Signature &signature = e.plan.op->signature;
    std::string s = text_of_plan(e);
    for (size_t k = 0; k < e.copies.size(); k++) {
        const Explanation::Copy &c = e.copies[k];
        s += "  copies " + (c.input ? signature.inputs : signature.outputs)[c.tensor].name + ": " +
             c.why + (copy_note ? copy_note(k) : "") + "\n";
    }
    std::map<std::string, int> elsewhere;  // kernels of each other device
    for (size_t k = 0; k < e.plan.candidates.size(); k++) {
        const Plan::Candidate &c = e.plan.candidates[k];
        if (c.is_elsewhere) {
            elsewhere[c.kernel->backend]++;
            continue;
        }
        s += text_of_candidate(c, int(k) == e.selected()) +
             (candidate_note ? candidate_note(k) : "") + "\n";
    }
    for (const auto &[backend, count] : elsewhere)
        s += "     " + backend + ": " + std::to_string(count) +
             (count == 1 ? " kernel" : " kernels") + ", for calls there\n";
    if (!e.other_dtypes.empty())
        s += "  kernels for other dtypes: " + join(e.other_dtypes, " ") + "\n";
    return s;
}

std::string explain(const RegisteredOp &op, std::span<const Tensor> in, const Attrs &attrs) {
    return text_of(explanation_of(op, in, attrs));
}

}  // namespace halyard
