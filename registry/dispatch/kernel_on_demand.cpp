#include "registry/dispatch/kernel_on_demand.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <mutex>

#include "registry/base/error.h"
#include "registry/base/fork.h"
#include "registry/base/run_program.h"
#include "registry/base/temporary_folder.h"

namespace halyard {
namespace {

// Kernels are compiled one at a time, each on all cores.
std::mutex &makes_one() {
    static std::mutex &mutex = *[] {
        auto *made = new std::mutex;
        hold_over_fork(*made, LockRank::outer);
        return made;
    }();
    return mutex;
}

KernelFn opened(const std::string &library, const std::string &symbol) {
    void *handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle) throw DispatchError(symbol, std::string("can't be opened: ") + dlerror());
    const auto kernel = reinterpret_cast<KernelFn>(dlsym(handle, (symbol + "_argv").c_str()));
    if (!kernel) throw DispatchError(symbol, "is not in what its generator made");
    return kernel;
}

std::string in_one_line(std::string text) {
    while (text.ends_with('\n'))
        text.pop_back();
    std::replace(text.begin(), text.end(), '\n', ' ');
    return text;
}

}  // namespace

KernelFn KernelOnDemand::make() {
    const std::lock_guard lock(makes_one());
    if (const KernelFn made = made_.load(std::memory_order_acquire)) return made;
    const TemporaryFolder folder("halyard_kernel");
    const Ended ended = run_program(
        {generator_, "--kernel", symbol_, "--out", folder.path.string()}, Keep::output_and_errors);
    if (ended.status != 0)
        throw DispatchError(symbol_, "can't be made: " + in_one_line(ended.text));
    std::fputs(ended.text.c_str(), stderr);  // what it compiled; nothing where the cache had it
    const KernelFn made = opened((folder.path / (std::string(symbol_) + ".so")).string(), symbol_);
    made_.store(made, std::memory_order_release);
    return made;
}

}  // namespace halyard
