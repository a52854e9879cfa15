// KernelOnDemand: in a development build, a kernel that is compiled when it is first called.
//
// Such a build lists all kernels and has the code of none (tools/gen.cpp, --on-demand). A program
// that makes them, the generator of the op's file, compiles the one that is called, or takes it
// from the kernel cache, and this process opens it. Builds that are installed or tested have their
// kernels ahead of time, and nothing of this.
#pragma once
#include <atomic>

#include "registry/op/op_record.h"

namespace halyard {

class KernelOnDemand {
public:
    // `generator` is the path of a program and `symbol` the kernel's name in it.
    constexpr KernelOnDemand(const char *generator, const char *symbol)
        : generator_(generator), symbol_(symbol) {}

    // Calls the kernel, from any thread. The first call throws DispatchError where it can't be
    // made.
    int operator()(void **arguments) {
        const KernelFn made = made_.load(std::memory_order_acquire);
        return (made ? made : make())(arguments);
    }

private:
    KernelFn make();

    const char *const generator_;
    const char *const symbol_;
    std::atomic<KernelFn> made_ = nullptr;
};

}  // namespace halyard
