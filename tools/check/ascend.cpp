// The simulated Ascend device against the references, on its own.
#include <memory>

#include "registry/dispatch.h"
#include "registry/plan.h"
#include "registry/simulated.h"
#include "tools/check/case.h"
#include "tools/check/check.h"
#include "tools/check/progress.h"

namespace halyard::check {
namespace {

constexpr size_t quick_samples = 4;         // of each dtype, the first that are small enough
constexpr int64_t quick_elements = 20'000;  // of all inputs of one of them

int64_t elements_of(const Case &c) {
    int64_t elements = 0;
    for (const Tensor &t : c.in) elements += t.elements();
    return elements;
}

Plan planned(const Case &c) {
    std::vector<OperandMeta> metas;
    for (const Tensor &t : c.in) metas.push_back(meta_of(t));
    return make_plan(c.registered, metas, c.attrs);
}

void run_variant(const Op &op, const Case &c, const std::string &variant, Report &r) {
    const Force force(host_isa(), variant, "ascend");
    const std::string where = "ascend " + c.dtypes + (variant.empty() ? "" : " " + variant) + " '" + c.sample + "'";
    begins(where);
    try {
        const std::vector<Tensor> out = dispatch(c.registered, c.in, c.attrs);
        for (size_t k = 0; k < out.size(); k++) {
            const std::string &name = op.sig.outputs[k].name;
            r.expect(where, compare(op, name, out[k], c.problem));
        }
    } catch (const Error &e) { r.fail(where, e.what()); }
}

// False where the device has no program for the call, which is noted.
bool check_sample(const Op &op, Case &c, Report &r) {
    std::vector<std::string> by_hand;
    {
        const Force force(host_isa(), "", "ascend");
        const Plan plan = planned(c);
        if (!plan.simulated && plan.kernel) {
            r.skip(c.dtypes + ": " + simulated_device().refusal(plan, c.dtypes));
            return false;
        }
        if (plan.simulated) by_hand = simulated_device().by_hand(plan, c.dtypes);
    }
    c.solve(op);
    run_variant(op, c, "", r);
    for (auto &variant : by_hand) run_variant(op, c, variant, r);
    return true;
}

// What the CPU says of the call: "" where it takes it, else the error.
std::string cpu_refusal(const Case &c) {
    try {
        const Force force(host_isa(), "");
        dispatch(c.registered, c.in, c.attrs);
    } catch (const Error &e) { return e.what(); }
    return "";
}

// Each dimension 0: what the reference says, or the CPU's error.
void check_empty(const Op &op, const std::string &sample, const std::string &dtypes, Report &r) {
    std::unique_ptr<Case> c;
    try {
        c = std::make_unique<Case>(op, sample, dtypes, 3);
    } catch (const Error &) { return; }  // refused by its own shape rule, on every device
    const std::string where = "ascend '" + sample + "'", refused = cpu_refusal(*c);
    if (refused.empty()) {
        c->solve(op);
        run_variant(op, *c, "", r);  // wherever the plan has it run: no program is made of a call without elements
        return;
    }
    try {
        const Force force(host_isa(), "", "ascend");
        dispatch(c->registered, c->in, c->attrs);
        r.fail(where, "computed, the CPU says " + refused);
    } catch (const Error &e) { r.expect(where, e.what() == refused ? "" : std::string(e.what()) + ", the CPU says " + refused); }
}

}  // namespace

void check_ascend(const Op &op, const Options &o, Report &r) {
    if (op.form == Form::composite) return r.skip("composed of other ops");
    if (o.quick && (op.name == "ctc_kernel_dlog_probs" || op.name == "fold_kernel")) return r.skip("takes minutes; only without --quick");
    for (auto &dtypes : op.dtypes) {
        if (!o.dtypes.empty() && dtypes != o.dtypes) continue;
        size_t taken = 0;
        for (auto &sample : op.samples) {
            Case c(op, sample, dtypes, 6);
            if (o.quick && (taken == quick_samples || (taken > 0 && elements_of(c) > quick_elements))) continue;
            check_sample(op, c, r);
            taken++;
        }
    }
    const Sample first = parse_sample(op, op.samples[0]);
    for (auto &[name, value] : first.dims) {
        std::string sample;
        for (auto &[other, extent] : first.dims) sample += other + "=" + std::to_string(other == name ? 0 : extent) + " ";
        for (auto &[attr, text] : first.attrs) sample += attr + "=" + text + " ";
        check_empty(op, sample, o.dtypes.empty() ? op.dtypes[0] : o.dtypes, r);
    }
}

}  // namespace halyard::check
