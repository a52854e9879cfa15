// The choice of the kernel that runs a planned call.
#pragma once
#include <string>

#include "registry/dispatch/plan.h"

namespace halyard {

// Returns where a call of these dtypes should run: the forced backend, or device(), or "cpu" if the
// op has no kernel for them on the device. The answer is "ascend" for all ops: its programs are
// made for each call, and a call that it rejects then runs on the CPU.
std::string requested_backend(const RegisteredOp &op, const std::string &dtypes);

// Returns the reason why device() doesn't run a call of these dtypes: "no opencl kernel for f16,
// only for f32". Empty if it does, and if a backend is forced.
std::string stays_on_cpu(const RegisteredOp &op, const std::string &dtypes);

bool is_half(DType t);  // f16 or bf16

// Returns `dtypes` with f32 for every 16-bit float: "f16,i32" becomes "f32,i32".
std::string in_f32(const std::string &dtypes);

// Returns true if the CPU, up to the forced or active level, has a kernel for in_f32(dtypes) but
// none for `dtypes`.
bool upcasts_to_f32(const RegisteredOp &op, const std::string &dtypes);

// Returns why the condition of the kernel's variant rejects a problem of `dims`: "c<=256: c is
// 512". Empty if the kernel takes it, as that of a GPU does if its op has no variants for GPUs.
std::string rejection_reason(const OpRecord &op, const KernelEntry &k, const Dims &dims);

// Sets the plan's kernel to the first one of `backend` for these dtypes ("f32,i32") that takes
// plan.dims; for a call that Ascend rejects, to the CPU's. Throws DispatchError if there is none,
// unless the call upcasts_to_f32(). With `explaining` it throws nothing and lists all candidates.
void choose_kernel(const RegisteredOp &op, const std::string &dtypes, const std::string &backend,
                   bool explaining, Plan &plan);

}  // namespace halyard
