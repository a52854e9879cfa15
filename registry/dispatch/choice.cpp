#include "registry/dispatch/choice.h"

#include <algorithm>
#include <mutex>
#include <set>
#include <sstream>

#include "registry/base/fork.h"
#include "registry/base/log.h"
#include "registry/base/text.h"
#include "registry/dispatch/force.h"
#include "registry/dispatch/kernel_maker.h"
#include "registry/dispatch/simulated.h"
#include "registry/op/expr.h"
#include "registry/op/extension.h"

namespace halyard {

std::string rejection_reason(const OpRecord &op, const KernelEntry &k, const Dims &dims) {
    const VariantSpec *v = find_variant(op, k.variant);
    if (!v) return "no variant of this name";
    if (k.backend != "cpu" && op.gpu_variants.empty()) return "";
    if (!host_has(v->extension)) return std::string("this CPU lacks ") + name_of(v->extension);
    Dims names = dims;
    for (const auto &[name, value] : k.tunables)
        names[name] = value;
    names["lanes"] = k.lanes;
    std::string why;
    return holds(v->when, names, &why) ? "" : why;
}

namespace {

// Returns the dtypes for which the op has kernels of the backend: "f32 f16".
std::string dtypes_of_kernels(const RegisteredOp &op, const std::string &backend) {
    std::vector<std::string> all;
    for (const KernelEntry &k : op.kernels)
        if (k.backend == backend && !std::ranges::count(all, k.dtypes)) all.push_back(k.dtypes);
    return join(all, " ");
}

bool has_kernel(const RegisteredOp &op, const std::string &backend, const std::string &dtypes) {
    return std::ranges::any_of(op.kernels, [&](const KernelEntry &k) {
        return k.backend == backend && k.dtypes == dtypes;
    });
}

// Returns true if there is a kernel, or one is compiled when a call wants it.
bool can_have_kernel(const RegisteredOp &op, const std::string &backend,
                     const std::string &dtypes) {
    if (has_kernel(op, backend, dtypes)) return true;
    KernelMaker *const maker = kernel_maker(backend);
    return maker && maker->no_kernel_reason(op, dtypes).empty();
}

std::string lacks_kernel(const RegisteredOp &op, const std::string &backend,
                         const std::string &dtypes) {
    if (KernelMaker *const maker = kernel_maker(backend)) {
        return "no " + backend + " kernel for " + dtypes + ": " +
               maker->no_kernel_reason(op, dtypes);
    }
    const std::string available = dtypes_of_kernels(op, backend);
    if (available.empty()) return "no " + backend + " kernel";
    return "no " + backend + " kernel for " + dtypes + ", only for " + available;
}

}  // namespace

std::string requested_backend(const RegisteredOp &op, const std::string &dtypes) {
    if (const Force::Choice *force = Force::current()) {
        const bool elsewhere = force->backend != "cpu" && force->backend != "ascend";
        return elsewhere && !can_have_kernel(op, force->backend, dtypes) ? "cpu" : force->backend;
    }
    return stays_on_cpu(op, dtypes).empty() ? device() : "cpu";
}

std::string stays_on_cpu(const RegisteredOp &op, const std::string &dtypes) {
    const std::string &backend = device();
    if (Force::current() || backend == "cpu" || backend == "ascend" ||
        can_have_kernel(op, backend, dtypes))
        return "";
    return lacks_kernel(op, backend, dtypes);
}

bool is_half(DType t) {
    return t == DType::f16 || t == DType::bf16;
}

std::string in_f32(const std::string &dtypes) {
    std::istringstream words(dtypes);
    std::vector<std::string> upcast;
    for (std::string w; std::getline(words, w, ',');)
        upcast.push_back(is_half(dtype_of(w)) ? "f32" : w);
    return join(upcast, ",");
}

bool upcasts_to_f32(const RegisteredOp &op, const std::string &dtypes) {
    const Isa limit = Force::current() ? Force::current()->isa : active_isa();
    const auto has_cpu_kernel = [&](const std::string &wanted) {
        return std::ranges::any_of(op.kernels, [&](const KernelEntry &k) {
            return k.backend == "cpu" && k.dtypes == wanted && k.isa <= limit;
        });
    };
    return !has_cpu_kernel(dtypes) && has_cpu_kernel(in_f32(dtypes));
}

namespace {

// Logs, once for an op and its dtypes, that its calls run on the CPU.
void log_stays_on_cpu(const std::string &backend, const std::string &op, const std::string &dtypes,
                      const std::string &why) {
    struct Logged {
        Logged() { hold_over_fork(mutex); }
        std::mutex mutex;
        std::set<std::string> calls;
    };
    static Logged &logged = *new Logged;  // never destroyed: calls go on while a program ends
    const std::lock_guard lock(logged.mutex);
    const std::string of = dtypes.empty() ? "" : " of " + dtypes;
    if (logged.calls.insert(backend + " " + op + " " + dtypes).second)
        log(LogLevel::warning, backend, op + of + " stays on the CPU: " + why);
}

// The conditions under which one backend's kernels are tried for a call.
class Candidates {
public:
    Candidates(const RegisteredOp &op, const std::string &dtypes, const std::string &backend,
               const Dims &dims)
        : op_(op), dtypes_(dtypes), backend_(backend), dims_(dims), force_(Force::current()),
          max_isa_(force_ ? force_->isa : active_isa()), forced_isa_(forced_isa()) {}

    // Returns the reason why the kernel can't run the call; empty if it can.
    std::string rejection(const KernelEntry &k) const {
        if (k.dtypes != dtypes_) return "dtypes are " + dtypes_ + ", this is for " + k.dtypes;
        if (k.backend != backend_) return "runs on " + k.backend;
        if (k.backend == "cpu" && (force_ ? k.isa != forced_isa_ : k.isa > max_isa_))
            return std::string("needs ") + name_of(k.isa) + ", limited to " + name_of(max_isa_);
        if (force_ && !force_->variant.empty() && k.variant != force_->variant)
            return "variant " + force_->variant + " is forced";
        const std::string why = rejection_reason(op_.record, k, dims_);
        return why.empty() ? "" : "refused: " + why;
    }

    // Throws DispatchError with the reason for each kernel of the backend and the dtypes.
    [[noreturn]] void fail() const {
        std::string text = "no kernel takes this call:";
        if (!has_kernel(op_, backend_, dtypes_)) text += " " + lacks_kernel(op_, backend_, dtypes_);
        for (const KernelEntry &k : op_.kernels) {
            if (k.dtypes == dtypes_ && k.backend == backend_)
                text += "\n  " + k.variant + "/" + name_of(k.isa) + ": " + rejection(k);
        }
        throw DispatchError(op_.record.name, text);
    }

private:
    // Returns the forced level, or the next one below for which there are kernels: some levels have
    // only kernels that need an extension.
    Isa forced_isa() const {
        if (!force_) return max_isa_;
        const auto suits = [&](const KernelEntry &k) {
            if (k.backend != "cpu" || k.dtypes != dtypes_ || k.isa > max_isa_) return false;
            if (!force_->variant.empty()) return k.variant == force_->variant;
            return extension_of(op_.record, k.variant) == Extension::none;
        };
        const auto first = std::ranges::find_if(op_.kernels, suits);
        return first == op_.kernels.end() ? max_isa_ : first->isa;
    }

    const RegisteredOp &op_;
    const std::string &dtypes_, &backend_;
    const Dims &dims_;
    const Force::Choice *force_;
    Isa max_isa_, forced_isa_;
};

// Plans the call for the simulated device. Returns false if that rejects it.
bool choose_ascend(const RegisteredOp &op, const std::string &dtypes, bool explaining, Plan &plan) {
    const KernelEntry &k = simulated_device().kernel(op, dtypes);
    const std::string why = simulated_device().rejection(plan, dtypes);
    if (explaining) plan.candidates.push_back({&k, why});
    if (!why.empty()) {
        if (!explaining && !Force::current())
            log_stays_on_cpu("ascend", op.record.name, dtypes, why);
        return false;
    }
    plan.kernel = &k;
    plan.simulated = true;
    return true;
}

// Returns the variant for GPUs that takes a call of `dims`.
std::string gpu_variant_for(const OpRecord &op, const Dims &dims) {
    const Force::Choice *const force = Force::current();
    if (op.gpu_variants.empty()) return op.variants.back().name;
    for (const VariantSpec &v : op.gpu_variants) {
        const bool is_asked = !force || force->variant.empty() || force->variant == v.name;
        if (is_asked && holds(v.when, dims)) return v.name;
    }
    throw DispatchError(op.name, "no kernel takes this call: variant " + force->variant +
                                     " is forced, whose condition does not hold");
}

// Sets the plan's kernel to one that is compiled now, if the backend has none and it can be made.
void make_kernel(const RegisteredOp &op, const std::string &dtypes, const std::string &backend,
                 Plan &plan) {
    KernelMaker *const maker = kernel_maker(backend);
    if (!maker || has_kernel(op, backend, dtypes)) return;
    plan.kernel = &maker->kernel(op, dtypes, gpu_variant_for(op.record, plan.dims));
    plan.on_device = true;
    plan.candidates.push_back({plan.kernel, ""});
}

}  // namespace

void choose_kernel(const RegisteredOp &op, const std::string &dtypes, const std::string &requested,
                   bool explaining, Plan &plan) {
    plan.stays_on_cpu = stays_on_cpu(op, dtypes);
    if (!plan.stays_on_cpu.empty() && !explaining)
        log_stays_on_cpu(device(), op.record.name, dtypes, plan.stays_on_cpu);
    std::string backend = requested;
    if (backend == "ascend") {
        const bool taken = choose_ascend(op, dtypes, explaining, plan);
        if (taken && !explaining) return;
        if (!taken) backend = "cpu";
    }
    make_kernel(op, dtypes, backend, plan);
    if (plan.kernel && !explaining) return;
    const Candidates candidates(op, dtypes, backend, plan.dims);
    for (const KernelEntry &k : op.kernels) {
        const std::string why = candidates.rejection(k);
        if (why.empty() && !plan.kernel) {
            plan.kernel = &k;
            plan.on_device = backend != "cpu";
        }
        if (explaining && k.dtypes == dtypes)
            plan.candidates.push_back({&k, why, k.backend != backend});
        if (plan.kernel && !explaining) return;
    }
    if (plan.kernel || explaining) return;
    if (backend != "cpu" || !upcasts_to_f32(op, dtypes)) candidates.fail();
}

}  // namespace halyard
