// Emits an algorithm in TBE's DSL, from the Funcs of an unscheduled kernel. TBE's auto_schedule
// schedules it.
#pragma once
#include "ascend/emit/emit.h"
#include "dsl/kernel.h"

namespace halyard::ascend {

// Returns the kernel for the shapes of its call; the op's real scalars are parameters of the Python
// function. It may have elementwise functions, choices, broadcasts, reductions and products of
// matrices. Throws AttrError "E-EMIT: ..", which names the stage, for anything else: an index that
// isn't a dimension (views, windows, gathers, transposes), division of integers, tensors that
// aren't dense.
dv::PythonFiles emit_tbe(const Kernel &k);

}  // namespace halyard::ascend
