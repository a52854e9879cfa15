// Which machine this is and who else uses it, for the head of a measurement.
#pragma once
#include "registry/base/host.h"

namespace halyard::bench {

// The CPU's name, its cores and, when they have had work, the load average: load.h knows who has
// them now.
void print_machine();

}  // namespace halyard::bench
