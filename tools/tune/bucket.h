// Buckets of problems, for what was learnt of one problem and is to be used for its neighbours.
#pragma once
#include <string>

#include "registry/dispatch/plan.h"

namespace halyard::tune {

// The canonical problem of a plan: every extent of the signature rounded down to a power of two,
// and the attributes that expressions know where they differ from their defaults. "g=1 m=512 k=512
// n=64 transpose_b=1".
std::string bucket_of(const Plan &plan);

}  // namespace halyard::tune
