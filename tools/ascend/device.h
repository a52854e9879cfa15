// The simulated Ascend device for tools: the programs of a planned call and the results of their
// simulation.
#pragma once
#include "ascend/simulator/simulate.h"
#include "dsl/ascend/compile.h"
#include "registry/dispatch/simulated.h"

namespace halyard::ascend {

// Returns the layouts, integer scalars and dimensions that a program is compiled for, and the chip.
FixedCall call_of(const Plan &p);

// Returns the programs of a planned call. If the plan has no kernel, they are of the variant that
// is forced. They are compiled once and kept. Throws DispatchError if the op has none.
const Compiled &programs_of(const Plan &p, const std::string &dtypes);

// Simulates each program and returns its result. `args` are as kernels get them. Without timing it
// is faster; issues are reported in both cases.
std::vector<dv::SimResult> simulate(const Plan &p, const std::string &dtypes, void *const *args,
                                    const dv::SimOptions &options);

}  // namespace halyard::ascend
