#include "registry/dispatch/kernel_maker.h"

#include <atomic>

#include "registry/dispatch/plan_generation.h"

namespace halyard {
namespace {

std::atomic<KernelMaker *> current_maker = nullptr;

}  // namespace

void set_kernel_maker(KernelMaker *maker) {
    current_maker = maker;
    invalidate_plans();
}

KernelMaker *kernel_maker(const std::string &backend) {
    KernelMaker *const maker = current_maker.load(std::memory_order_acquire);
    return maker && maker->backend() == backend ? maker : nullptr;
}

}  // namespace halyard
