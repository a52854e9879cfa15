// SelectedKernel: one kernel and one problem for it, as the command lines of profile and ablate
// select them.
#pragma once
#include <CLI/CLI.hpp>

#include "bench/harness/benchmark_case.h"
#include "dsl/kernel.h"

namespace halyard::command {

struct KernelOptions {
    std::string op, shape, dtype, isa, variant;
    std::vector<std::string> tunables;
};
// Declares these options.
void add_kernel_options(CLI::App &sub, KernelOptions &o);

class SelectedKernel {
public:
    // Throws what a call with these options would throw, and DispatchError if the call has nothing
    // to compute.
    explicit SelectedKernel(const KernelOptions &o);

    const RegisteredOp &op;
    bench::ProblemInstance problem;
    Plan plan;
    Instance instance;
    std::vector<Tensor> out;

    // Throws DispatchError if its tunables violate the variant's condition.
    KernelEntry entry(const Kernel &built, KernelFn fn) const;
    // Returns a call of `k` that writes to `out`. `k` has to outlive it.
    std::function<void()> runner(const KernelEntry &k) const;
    // Returns "softmax n=1024 c=1024 f32 wide avx512, threads: 1".
    std::string headline() const;
};

}  // namespace halyard::command
