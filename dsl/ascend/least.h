// A lower bound on the work of the vector units for an op: the roof of its roofline.
#pragma once
#include "dsl/kernel.h"

namespace halyard::ascend {

// Returns the cycles of each core's vector unit, with the work divided evenly, for an unscheduled
// kernel. Each operation on reals is counted once at each of its points, and so is the conversion
// of a tensor that several stages use. A repeat has 256 B; an instruction has the largest number of
// repeats and its start (vec.head). Reductions are additions. Integers aren't counted, nor is what
// a schedule adds: copies, numbers for each row as operands, reductions of lanes, tails. Returns 0
// if an index isn't a stage's variable.
double min_vector_cycles(const Kernel &k);

}  // namespace halyard::ascend
