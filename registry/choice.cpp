#include "registry/choice.h"

#include <algorithm>
#include <mutex>
#include <set>
#include <sstream>

#include "registry/dispatch.h"
#include "registry/expr.h"
#include "registry/extension.h"
#include "registry/log.h"
#include "registry/simulated.h"

namespace halyard {

std::string refusal_of(const OpRecord &op, const KernelEntry &k, const std::map<std::string, int64_t> &dims) {
    if (k.backend != "cpu") return "";
    if (!host_runs(k.variant)) return "this CPU lacks " + k.variant;
    for (auto &v : op.variants)
        if (v.name == k.variant) {
            std::map<std::string, int64_t> facts = dims;
            for (auto &[name, value] : k.picks) facts[name] = value;
            facts["lanes"] = k.lanes;
            std::string why;
            return holds(v.when, facts, &why) ? "" : why;
        }
    return "no variant of this name";
}

std::string wanted_backend(const OpRecord &op) {
    const std::string &b = Force::current() ? Force::current()->backend : device();
    return b != "cpu" && b != "ascend" && !op.gpu ? "cpu" : b;
}

bool is_half(DType t) { return t == DType::f16 || t == DType::bf16; }

std::string in_f32(const std::string &dtypes) {
    std::istringstream words(dtypes);
    std::string wide;
    for (std::string w; std::getline(words, w, ',');) wide += (wide.empty() ? "" : ",") + std::string(is_half(dtype_of(w)) ? "f32" : w);
    return wide;
}

bool computes_in_f32(const RegisteredOp &op, const std::string &dtypes) {
    const Isa limit = Force::current() ? Force::current()->isa : active_isa();
    const auto there = [&](const std::string &wanted) {
        return std::any_of(op.kernels.begin(), op.kernels.end(),
                           [&](const KernelEntry &k) { return k.backend == "cpu" && k.dtypes == wanted && k.isa <= limit; });
    };
    return !there(dtypes) && there(in_f32(dtypes));
}

namespace {

// Said once of an op and its dtypes, whatever the shapes.
void say_it_stays_on_the_cpu(const std::string &op, const std::string &dtypes, const std::string &why) {
    static std::mutex mutex;
    static std::set<std::string> said;
    const std::lock_guard lock(mutex);
    if (said.insert(op + " " + dtypes).second) log(LogLevel::warning, "ascend", op + " of " + dtypes + " stays on the CPU: " + why);
}

}  // namespace

void choose_kernel(const RegisteredOp &op, const std::string &dtypes, bool explaining, Plan &plan) {
    std::string backend = wanted_backend(op.record);
    if (backend == "ascend") {
        const KernelEntry &k = simulated_device().kernel(op, dtypes);
        const std::string why = simulated_device().refusal(plan, dtypes);
        if (why.empty()) plan.kernel = &k, plan.simulated = true;
        if (explaining) plan.candidates.push_back({&k, why});
        if (plan.kernel && !explaining) return;
        if (!plan.kernel && !explaining && !Force::current()) say_it_stays_on_the_cpu(op.record.name, dtypes, why);
        if (!plan.kernel) backend = "cpu";
    }
    const auto *const force = Force::current();
    const Isa limit = force ? force->isa : active_isa();
    Isa forced = limit;
    if (force) {  // where its level has nothing for these dtypes but what an extension adds, the next one below that has stands for it
        const auto below = std::find_if(op.kernels.begin(), op.kernels.end(), [&](const KernelEntry &k) {
            return k.backend == "cpu" && k.dtypes == dtypes && k.isa <= limit &&
                   (force->variant.empty() ? !is_extension(k.variant) : k.variant == force->variant);
        });
        if (below != op.kernels.end()) forced = below->isa;
    }
    const auto why_not = [&](const KernelEntry &k) -> std::string {
        if (k.dtypes != dtypes) return "dtypes are " + dtypes + ", this is for " + k.dtypes;
        if (k.backend != backend) return "runs on " + k.backend;
        if (k.backend == "cpu" && (force ? k.isa != forced : k.isa > limit)) return std::string("needs ") + name_of(k.isa) + ", limited to " + name_of(limit);
        if (force && !force->variant.empty() && k.variant != force->variant) return "variant " + force->variant + " is forced";
        const std::string why = refusal_of(op.record, k, plan.dims);
        return why.empty() ? "" : "refused: " + why;
    };
    for (const KernelEntry &k : op.kernels) {
        const std::string why = why_not(k);
        if (why.empty() && !plan.kernel) plan.kernel = &k, plan.on_device = backend != "cpu";
        if (explaining && k.dtypes == dtypes) plan.candidates.push_back({&k, why});
        if (plan.kernel && !explaining) return;
    }
    if (plan.kernel || explaining) return;
    if (backend == "cpu" && computes_in_f32(op, dtypes)) return;
    std::string text = "no kernel takes this call:";
    for (const KernelEntry &k : op.kernels)
        if (k.dtypes == dtypes && k.backend == backend) text += "\n  " + k.variant + "/" + name_of(k.isa) + ": " + why_not(k);
    throw DispatchError(op.record.name, text);
}

}  // namespace halyard
