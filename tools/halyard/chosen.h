// Chosen: one kernel and one problem for it, as profile and ablate are told on the command line.
#pragma once
#include <CLI/CLI.hpp>

#include "dsl/kernel.h"
#include "tools/halyard/subject.h"

namespace halyard::command {

struct KernelOptions {
    std::string op, shape, dtype, isa, variant;
    std::vector<std::string> picks;
};
void add_kernel_options(CLI::App &sub, KernelOptions &o);

class Chosen {
public:
    // Throws what a call with these options would, and DispatchError where nothing is to be computed.
    explicit Chosen(const KernelOptions &o);

    const RegisteredOp &op;
    Trial trial;
    Plan plan;
    Instance instance;
    std::vector<Tensor> out;

    KernelEntry entry(const Kernel &built, KernelFn fn) const;  // throws DispatchError where its picks break the variant's condition
    std::function<void()> runner(const KernelEntry &k) const;   // a call of `k`, which has to outlive it, into `out`
    std::string headline() const;                               // "softmax n=1024 c=1024 f32 wide avx512, threads: 1"
};

}  // namespace halyard::command
