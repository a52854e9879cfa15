// The description of the machine at the head of a measurement.
#pragma once
#include "registry/base/host.h"

namespace halyard::bench {

// Prints the CPU's name, its cores and, if it is not small, the load average. The load of each core
// at this moment is in system_load.h.
void print_machine();

}  // namespace halyard::bench
