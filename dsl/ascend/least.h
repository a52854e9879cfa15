// The least that the vector unit has to do for an op: its roof.
#pragma once
#include "dsl/kernel.h"

namespace halyard::ascend {

// Cycles of every core's vector unit, if all had as much of it, for a kernel that isn't scheduled.
// Each operation on reals of the algorithm is done once at each of its points, a conversion of a
// tensor too, however many stages ask for it; 256 B to a repeat, as many as an instruction has in
// one after its start (vec.head). Reductions are additions. What a schedule adds - copies, a number
// for each row as an operand, lanes that come together, tails - counts nothing, nor do integers. 0
// where the indices are more than the stages' variables.
double min_vector_cycles(const Kernel &k);

}  // namespace halyard::ascend
