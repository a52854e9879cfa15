#include "tools/gpu/cuda_kernels.h"

#include <map>
#include <mutex>
#include <tuple>

#include "dsl/all_ops.h"
#include "dsl/gpu/gpu_kernels.h"
#include "dsl/kernel.h"
#include "dsl/op.h"
#include "registry/dispatch/kernel_maker.h"

namespace halyard {
namespace {

constexpr const char *cuda = "cuda";

// Returns the source of an op of library(). The ops of other libraries are in the table since they
// were opened, those of the kit since the first call of one if the program hasn't listed them.
OpPtr source_of(const std::string &name) {
    static std::mutex &listing = *new std::mutex;
    const std::lock_guard lock(listing);
    if (OpPtr op = op_table().make(name)) return op;
    list_kit_ops();
    return op_table().make(name);
}

class CudaKernels final : public KernelMaker {
public:
    std::string backend() const override { return cuda; }

    std::string no_kernel_reason(const RegisteredOp &op, const std::string &dtypes) override {
        const OpPtr source = source_of(op.record.name);
        return source ? gpu::no_kernel_reason(*source, dtypes)
                      : "its op file isn't part of this program";
    }

    const KernelEntry &kernel(const RegisteredOp &op, const std::string &dtypes,
                              const std::string &variant) override {
        const std::lock_guard lock(mutex_);
        const auto [at, is_new] = made_.try_emplace({op.record.name, dtypes, variant});
        if (is_new) {
            try {
                at->second = compiled(op.record.name, dtypes, variant);
            } catch (...) {
                made_.erase(at);
                throw;
            }
        }
        return at->second;
    }

private:
    static KernelEntry compiled(const std::string &name, const std::string &dtypes,
                                const std::string &variant) {
        Instance i;
        i.backend = cuda;
        i.dtypes = dtypes;
        i.variant = variant;
        Kernel kernel(source_of(name), i);
        return {name,         cuda, dtypes, i.variant, i.isa, kernel.lanes, i.tunables.values(),
                kernel.load()};
    }

    // Not held over fork(): a compilation forks, and a child can't use a device anyway.
    std::mutex mutex_;
    // by op, dtypes and variant
    std::map<std::tuple<std::string, std::string, std::string>, KernelEntry> made_;
};

}  // namespace

void make_cuda_kernels() {
    static CudaKernels &maker = *new CudaKernels;  // threads may call ops while a program ends
    set_kernel_maker(&maker);
}

}  // namespace halyard
