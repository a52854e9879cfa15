// Buckets of problems: what is measured for one problem is used for others in its bucket.
#pragma once
#include <string>

#include "registry/dispatch/plan.h"

namespace halyard::tune {

// Returns the canonical problem of a plan: every extent of the signature rounded down to a power of
// two, and the attributes that occur in expressions and differ from their defaults: "g=1 m=512
// k=512 n=64 transpose_b=1".
std::string bucket_of(const Plan &plan);

}  // namespace halyard::tune
