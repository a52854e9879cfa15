// Which kernel a planned call gets.
#pragma once
#include <string>

#include "registry/dispatch/plan.h"

namespace halyard {

// Where a call of these dtypes is to run: what is forced, or device(), or "cpu" where the op has no
// kernel there for them. "ascend" for all ops: its programs are made for each call, and what it
// refuses then goes to the CPU.
std::string wanted_backend(const RegisteredOp &op, const std::string &dtypes);

// Why a call of these dtypes isn't run by device(): "no opencl kernel for f16, only for f32"; ""
// where it is, and where a backend is forced.
std::string stays_on_cpu(const RegisteredOp &op, const std::string &dtypes);

bool is_half(DType t);  // f16 bf16
// with f32 for every 16-bit float: "f16,i32" becomes "f32,i32"
std::string in_f32(const std::string &dtypes);

// Has the CPU, up to the forced or active level, no kernel for these dtypes, but one for
// in_f32(dtypes)?
bool computes_in_f32(const RegisteredOp &op, const std::string &dtypes);

// Sets the plan's kernel: the first one of the backend for these dtypes ("f32,i32") that takes its
// dims; where Ascend refuses the call, the CPU's. Throws DispatchError where none does; not when
// `explaining`, which tells of every candidate what refused it, nor where the op computes_in_f32().
void choose_kernel(const RegisteredOp &op, const std::string &dtypes, const std::string &backend,
                   bool explaining, Plan &plan);

}  // namespace halyard
