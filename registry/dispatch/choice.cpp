#include "registry/dispatch/choice.h"

#include <algorithm>
#include <mutex>
#include <set>
#include <sstream>

#include "registry/base/fork.h"
#include "registry/base/log.h"
#include "registry/dispatch/dispatch.h"
#include "registry/dispatch/simulated.h"
#include "registry/op/expr.h"
#include "registry/op/extension.h"

namespace halyard {

std::string refusal_of(const OpRecord &op, const KernelEntry &k,
                       const std::map<std::string, int64_t> &dims) {
    if (k.backend != "cpu") return "";
    if (!host_runs(k.variant)) return "this CPU lacks " + k.variant;
    for (auto &v : op.variants) {
        if (v.name == k.variant) {
            std::map<std::string, int64_t> facts = dims;
            for (auto &[name, value] : k.tunables)
                facts[name] = value;
            facts["lanes"] = k.lanes;
            std::string why;
            return holds(v.when, facts, &why) ? "" : why;
        }
    }
    return "no variant of this name";
}

namespace {

// The dtypes for which the op has kernels of the backend: "f32 f16".
std::string dtypes_there(const RegisteredOp &op, const std::string &backend) {
    std::set<std::string> seen;
    std::string all;
    for (const KernelEntry &k : op.kernels) {
        if (k.backend == backend && seen.insert(k.dtypes).second)
            all += (all.empty() ? "" : " ") + k.dtypes;
    }
    return all;
}

bool has_kernel(const RegisteredOp &op, const std::string &backend, const std::string &dtypes) {
    return std::ranges::any_of(op.kernels, [&](const KernelEntry &k) {
        return k.backend == backend && k.dtypes == dtypes;
    });
}

std::string lacks_kernel(const RegisteredOp &op, const std::string &backend,
                         const std::string &dtypes) {
    const std::string there = dtypes_there(op, backend);
    if (there.empty()) return "no " + backend + " kernel";
    return "no " + backend + " kernel for " + dtypes + ", only for " + there;
}

}  // namespace

std::string wanted_backend(const RegisteredOp &op, const std::string &dtypes) {
    if (const Force::Choice *force = Force::current()) {
        const bool elsewhere = force->backend != "cpu" && force->backend != "ascend";
        return elsewhere && !op.record.gpu ? "cpu" : force->backend;
    }
    return stays_on_cpu(op, dtypes).empty() ? device() : "cpu";
}

std::string stays_on_cpu(const RegisteredOp &op, const std::string &dtypes) {
    const std::string backend = device();
    if (Force::current() || backend == "cpu" || backend == "ascend" ||
        has_kernel(op, backend, dtypes))
        return "";
    return lacks_kernel(op, backend, dtypes);
}

bool is_half(DType t) {
    return t == DType::f16 || t == DType::bf16;
}

std::string in_f32(const std::string &dtypes) {
    std::istringstream words(dtypes);
    std::string wide;
    for (std::string w; std::getline(words, w, ',');)
        wide += (wide.empty() ? "" : ",") + std::string(is_half(dtype_of(w)) ? "f32" : w);
    return wide;
}

bool computes_in_f32(const RegisteredOp &op, const std::string &dtypes) {
    const Isa limit = Force::current() ? Force::current()->isa : active_isa();
    const auto there = [&](const std::string &wanted) {
        return std::any_of(op.kernels.begin(), op.kernels.end(), [&](const KernelEntry &k) {
            return k.backend == "cpu" && k.dtypes == wanted && k.isa <= limit;
        });
    };
    return !there(dtypes) && there(in_f32(dtypes));
}

namespace {

// Said once of an op and its dtypes, whatever the shapes.
void say_it_stays_on_the_cpu(const std::string &backend, const std::string &op,
                             const std::string &dtypes, const std::string &why) {
    struct Said {
        Said() { hold_over_fork(mutex); }
        std::mutex mutex;
        std::set<std::string> calls;
    };
    static Said &said = *new Said;  // never destroyed: calls go on while a program ends
    const std::lock_guard lock(said.mutex);
    const std::string of = dtypes.empty() ? "" : " of " + dtypes;
    if (said.calls.insert(backend + " " + op + " " + dtypes).second)
        log(LogLevel::warning, backend, op + of + " stays on the CPU: " + why);
}

}  // namespace

void choose_kernel(const RegisteredOp &op, const std::string &dtypes, const std::string &wanted,
                   bool explaining, Plan &plan) {
    std::string backend = wanted;
    plan.stays_on_cpu = stays_on_cpu(op, dtypes);
    if (!plan.stays_on_cpu.empty() && !explaining)
        say_it_stays_on_the_cpu(device(), op.record.name, dtypes, plan.stays_on_cpu);
    if (backend == "ascend") {
        const KernelEntry &k = simulated_device().kernel(op, dtypes);
        const std::string why = simulated_device().refusal(plan, dtypes);
        if (why.empty()) {
            plan.kernel = &k;
            plan.simulated = true;
        }
        if (explaining) plan.candidates.push_back({&k, why});
        if (plan.kernel && !explaining) return;
        if (!plan.kernel && !explaining && !Force::current())
            say_it_stays_on_the_cpu("ascend", op.record.name, dtypes, why);
        if (!plan.kernel) backend = "cpu";
    }
    const auto *const force = Force::current();
    const Isa limit = force ? force->isa : active_isa();
    Isa forced = limit;
    // where its level has nothing for these dtypes but what an extension adds, the next one below
    // that has stands for it
    if (force) {
        const auto below = std::find_if(
            op.kernels.begin(), op.kernels.end(), [&](const KernelEntry &k) {
                return k.backend == "cpu" && k.dtypes == dtypes && k.isa <= limit &&
                       (force->variant.empty() ? !is_extension(k.variant)
                                               : k.variant == force->variant);
            });
        if (below != op.kernels.end()) forced = below->isa;
    }
    const auto why_not = [&](const KernelEntry &k) -> std::string {
        if (k.dtypes != dtypes) return "dtypes are " + dtypes + ", this is for " + k.dtypes;
        if (k.backend != backend) return "runs on " + k.backend;
        if (k.backend == "cpu" && (force ? k.isa != forced : k.isa > limit))
            return std::string("needs ") + name_of(k.isa) + ", limited to " + name_of(limit);
        if (force && !force->variant.empty() && k.variant != force->variant)
            return "variant " + force->variant + " is forced";
        const std::string why = refusal_of(op.record, k, plan.dims);
        return why.empty() ? "" : "refused: " + why;
    };
    for (const KernelEntry &k : op.kernels) {
        const std::string why = why_not(k);
        if (why.empty() && !plan.kernel) {
            plan.kernel = &k;
            plan.on_device = backend != "cpu";
        }
        if (explaining && k.dtypes == dtypes) plan.candidates.push_back({&k, why});
        if (plan.kernel && !explaining) return;
    }
    if (plan.kernel || explaining) return;
    if (backend == "cpu" && computes_in_f32(op, dtypes)) return;
    std::string text = "no kernel takes this call:";
    if (!has_kernel(op, backend, dtypes)) text += " " + lacks_kernel(op, backend, dtypes);
    for (const KernelEntry &k : op.kernels) {
        if (k.dtypes == dtypes && k.backend == backend)
            text += "\n  " + k.variant + "/" + name_of(k.isa) + ": " + why_not(k);
    }
    throw DispatchError(op.record.name, text);
}

}  // namespace halyard
