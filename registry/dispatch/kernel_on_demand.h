// KernelOnDemand: in a development build, a kernel that is compiled when it is first called.
//
// Such a build lists all kernels and contains the code of none (tools/gen.cpp, --on-demand). When a
// kernel is first called, the generator of its op file compiles it or takes it from the kernel
// cache, and this process opens the result. Builds for installation and tests compile all kernels
// ahead of time.
#pragma once
#include <atomic>

#include "registry/op/op_record.h"

namespace halyard {

class KernelOnDemand {
public:
    // `generator` is the path of a program and `symbol` the kernel's name in it.
    constexpr KernelOnDemand(const char *generator, const char *symbol)
        : generator_(generator), symbol_(symbol) {}

    // Calls the kernel; thread-safe. The first call throws DispatchError if the kernel can't be
    // compiled.
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
