// The algorithm in TBE's DSL, whose schedule is auto_schedule's: from the Funcs as they are
// written, before any schedule of this kit.
#pragma once
#include "ascend/emit/emit.h"
#include "dsl/kernel.h"

namespace halyard::ascend {

// Of an unscheduled kernel, for the shapes of its call; run-time numbers of the op are parameters
// of the Python function. Elementwise functions, choices, broadcasts, reductions and products of
// matrices; AttrError "E-EMIT: .." names the stage and what TBE can't say: an index that isn't a
// dimension (views, windows, gathers, transposes), integers' division, tensors that aren't dense.
dv::PythonFiles emit_tbe(const Kernel &k);

}  // namespace halyard::ascend
