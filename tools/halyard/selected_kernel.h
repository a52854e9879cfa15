// SelectedKernel: one kernel and one problem for it, as profile and ablate are told on the command
// line.
#pragma once
#include <CLI/CLI.hpp>

#include "bench/harness/benchmark_case.h"
#include "dsl/kernel.h"

namespace halyard::command {

struct KernelOptions {
    std::string op, shape, dtype, isa, variant;
    std::vector<std::string> tunables;
};
void add_kernel_options(CLI::App &sub, KernelOptions &o);

class SelectedKernel {
public:
    // Throws what a call with these options would, and DispatchError where nothing is to be
    // computed.
    explicit SelectedKernel(const KernelOptions &o);

    const RegisteredOp &op;
    bench::ProblemInstance problem;
    Plan plan;
    Instance instance;
    std::vector<Tensor> out;

    // throws DispatchError where its picks break the variant's condition
    KernelEntry entry(const Kernel &built, KernelFn fn) const;
    // a call of `k`, which has to outlive it, into `out`
    std::function<void()> runner(const KernelEntry &k) const;
    // "softmax n=1024 c=1024 f32 wide avx512, threads: 1"
    std::string headline() const;
};

}  // namespace halyard::command
