// Cancellation: a bound in units of the result can't be met where terms that are much larger than
// it cancel.
#pragma once
#include "bench/harness/case.h"

namespace halyard::check {

// A hint for the failure of this output, on a line of its own, where every error is within what one
// rounding of each input does to the result: then it isn't the kernel that is wrong, but what its
// errors are counted against. "" elsewhere.
std::string cancellation(const Op &op, const std::string &output, const Tensor &got,
                         const Problem &expected);

}  // namespace halyard::check
