// The simulated Ascend device, as tools see it: the programs of a planned call, and what their
// simulation says.
#pragma once
#include "ascend/simulator/simulate.h"
#include "dsl/ascend/compile.h"
#include "registry/dispatch/simulated.h"

namespace halyard::ascend {

FixedCall call_of(const Plan &p);

// Of a call that is planned; its kernel needn't be chosen, then it is of the variant that is
// forced. Made once and kept. Throws DispatchError where the op has none.
const Compiled &programs_of(const Plan &p, const std::string &dtypes);

// One result per program. `args` as kernels get them. Without timing it is quicker; issues are told
// either way.
std::vector<dv::SimResult> simulate(const Plan &p, const std::string &dtypes, void *const *args,
                                    const dv::SimOptions &options);

}  // namespace halyard::ascend
