// Samples with other values.
#pragma once
#include "bench/harness/case.h"

namespace halyard::check {

// Returns the sample with other values, half of which are breakpoints if `bends`, solved. A program
// that is made for a call doesn't depend on values, so it is the same one.
Case with_values(const Op &op, const Case &c, bool bends, int seed);

// Returns the sample with other values, solved, `count` of which are infinite, 0 or, with `nan`,
// NaN in each float input.
Case with_specials(const Op &op, const Case &c, int count, bool nan, int seed);

}  // namespace halyard::check
