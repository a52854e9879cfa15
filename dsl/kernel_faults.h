// The faults that can be planted into a kernel (dsl/mutate.h).
#pragma once
#include <string>
#include <vector>

#include "dsl/kernel.h"

namespace halyard {

// Returns the faults that can be planted into a kernel without one, each as "kind: location".
// Stages and loops have the names that `halyard lower` prints. Equal locations are numbered:
// "wrong-index: load of x in e #2". Lowers the kernel, without compiling it.
std::vector<std::string> faults_of(Kernel &k);
// Returns those in the computation of a stored value, rather than of an index or a loop's bound.
std::vector<std::string> faults_of_values(Kernel &k);

}  // namespace halyard
