// KernelMaker: compiles kernels for a device of which the program contains none. The command and
// other programs with the DSL have one for CUDA (tools/gpu/cuda_kernels.h).
#pragma once
#include <string>

#include "registry/dispatch/registry.h"

namespace halyard {

class KernelMaker {
public:
    virtual ~KernelMaker() = default;
    // The backend that the kernels are for.
    virtual std::string backend() const = 0;
    // Returns the reason why it makes no kernel for these dtypes; empty if it makes one.
    virtual std::string no_kernel_reason(const RegisteredOp &op, const std::string &dtypes) = 0;
    // Returns the kernel of a variant for GPUs, which is compiled at the first call and kept.
    // Thread-safe. Throws Error if it can't be compiled.
    virtual const KernelEntry &kernel(const RegisteredOp &op, const std::string &dtypes,
                                      const std::string &variant) = 0;
};

// Sets what makes the kernels of its backend from now on; null for nothing. It must live on.
void set_kernel_maker(KernelMaker *maker);
// Returns the maker for a backend; null if there is none.
KernelMaker *kernel_maker(const std::string &backend);

}  // namespace halyard
