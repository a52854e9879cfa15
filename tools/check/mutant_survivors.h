// What becomes of planted faults that no check has found (tools/check/mutants.h).
#pragma once
#include <vector>

#include "tools/check/mutant_runner.h"

namespace halyard::check {

// Tries the surviving faults in kernels for the CPU again: finds out whether a call executes their
// places, makes such calls with many values and under the sanitizers, and makes more random calls.
// Changes the status of those that are caught, and of those whose place no call was found to
// execute.
void try_survivors(const std::vector<Choice> &chosen, const MutantOptions &o,
                   std::vector<Mutant> &all);

}  // namespace halyard::check
