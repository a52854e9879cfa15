// Which of an op's algorithms an Ascend program computes.
#pragma once
#include <string>

namespace halyard {

class Op;
struct FixedCall;

namespace ascend {

// An algorithm may differ by variant, and be right only where that variant's condition holds: the
// last variant, which is the most general one, whose condition the call fulfils. Facts that only
// CPU kernels have, such as the picks of a schedule, fulfil none. Throws DispatchError where no
// variant takes the call.
std::string algorithm_for(const Op &op, int lanes, const FixedCall &call);

}  // namespace ascend
}  // namespace halyard
