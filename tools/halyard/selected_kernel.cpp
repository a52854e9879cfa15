#include "tools/halyard/selected_kernel.h"

#include "bench/harness/op_call.h"
#include "bench/harness/progress.h"
#include "bench/harness/tunables.h"
#include "dsl/all_ops.h"
#include "registry/base/parallel.h"
#include "registry/dispatch/choice.h"
#include "registry/dispatch/planner.h"
#include "registry/dispatch/run_plan.h"

namespace halyard::command {
using namespace bench;
namespace {

std::string problem_of(const KernelOptions &o, const OpRecord &op) {
    const auto problems = problems_of(op);
    if (o.shape.empty() && problems.empty())
        throw AttrError(o.op, "has no bench or sample problem, give --shape");
    return o.shape.empty() ? problems[0] : o.shape;
}

}  // namespace

void add_kernel_options(CLI::App &sub, KernelOptions &o) {
    sub.add_option("op", o.op, "Name of the op")->required();
    sub.add_option(
        "--shape,-s", o.shape,
        "A problem as the op's record writes it: \"n=1024 c=1024\"; default: the op's first");
    sub.add_option("--dtype", o.dtype, "f32, f16, ... (f32,i32 where the op has two)");
    sub.add_option("--isa", o.isa, "Only kernels of this level: baseline, avx2, avx512");
    sub.add_option("--variant", o.variant, "Only kernels of this variant");
    sub.add_option("--picks", o.tunables, "A value for a tunable of the schedule: rows=4")
        ->allow_extra_args(false);
}

SelectedKernel::SelectedKernel(const KernelOptions &o)
    : op(op_with_kernels(o.op)),
      problem(op, problem_of(o, op.record), dtype_set(op.record, o.dtype)) {
    const Target target("cpu", o.isa, variant_called(op.record, o.variant));
    list_kit_ops();
    plan = make_plan(op, metas_of(problem), problem.attrs);
    if (!plan.kernel)
        throw DispatchError(o.op, "nothing is to be computed for '" + problem.text + "'");
    instance.dtypes = plan.kernel->dtypes;
    instance.variant = plan.kernel->variant;
    instance.isa = plan.kernel->isa;
    instance.tunables = tunables_from(op.record.name, instance, o.tunables);
    out = outputs_of(problem);
}

KernelEntry SelectedKernel::entry(const Kernel &built, KernelFn fn) const {
    KernelEntry k = *plan.kernel;
    k.fn = fn;
    k.lanes = built.lanes;
    k.tunables = built.instance.tunables.values();
    if (const std::string why = rejection_reason(op.record, k, plan.dims); !why.empty())
        throw DispatchError(op.record.name, "not with these picks: " + why);
    return k;
}

std::function<void()> SelectedKernel::runner(const KernelEntry &k) const {
    Plan mine = plan;
    mine.kernel = &k;
    check::begin_step(headline());
    return [this, mine] { run_plan(mine, problem.in, problem.attrs, out); };
}

std::string SelectedKernel::headline() const {
    const std::string kernel = instance.dtypes +
                               (instance.variant.empty() ? "" : " " + instance.variant) + " " +
                               name_of(instance.isa);
    return op.record.name + " " + problem.text + " " + kernel +
           ", threads: " + std::to_string(threads());
}

}  // namespace halyard::command
