// Selects the algorithm of an op that an Ascend program computes.
#pragma once
#include <string>

namespace halyard {

class Op;
struct FixedCall;

namespace ascend {

// Returns the last variant, which is the most general one, whose condition the call fulfils: the
// algorithm of a variant may be correct only under its condition. Conditions on values that only
// CPU kernels have, such as tunables, aren't fulfilled. Throws DispatchError if no variant takes
// the call.
std::string algorithm_for(const Op &op, int lanes, const FixedCall &call);

}  // namespace ascend
}  // namespace halyard
