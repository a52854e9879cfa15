// Which kernel a planned call gets.
#pragma once
#include <string>

#include "registry/plan.h"

namespace halyard {

// "cpu", or the backend that is forced or that device() names, where the op has kernels for it. "ascend" for all ops: its programs are
// made for each call, and what it refuses then goes to the CPU.
std::string wanted_backend(const OpRecord &op);

// Sets the plan's kernel: the first one for these dtypes ("f32,i32") that takes its dims. Throws DispatchError where none does; not when
// `explaining`, which tells of every candidate what refused it.
void choose_kernel(const RegisteredOp &op, const std::string &dtypes, bool explaining, Plan &plan);

}  // namespace halyard
