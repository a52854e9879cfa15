// Which kernel a planned call gets.
#pragma once
#include <string>

#include "registry/plan.h"

namespace halyard {

// "cpu", or the backend that is forced or that device() names, where the op has kernels for it. "ascend" for all ops: its programs are
// made for each call, and what it refuses then goes to the CPU.
std::string wanted_backend(const OpRecord &op);

bool is_half(DType t);                          // f16 bf16
std::string in_f32(const std::string &dtypes);  // with f32 for every 16-bit float: "f16,i32" becomes "f32,i32"

// Has the CPU, up to the forced or active level, no kernel for these dtypes, but one for in_f32(dtypes)?
bool computes_in_f32(const RegisteredOp &op, const std::string &dtypes);

// Sets the plan's kernel: the first one for these dtypes ("f32,i32") that takes its dims. Throws DispatchError where none does; not when
// `explaining`, which tells of every candidate what refused it, nor where the op computes_in_f32().
void choose_kernel(const RegisteredOp &op, const std::string &dtypes, bool explaining, Plan &plan);

}  // namespace halyard
