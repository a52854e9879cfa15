// A call of an op and the elementwise ops after it, as one op for backend "c99": each element of
// the result is finished before the next one begins, so that what the ops compute in between has no
// memory.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "dsl/fixed_call.h"
#include "dsl/op.h"

namespace halyard::c99 {

// One op of a fused call.
struct FusedStep {
    OpPtr op;
    // The call as it was planned by itself. Layouts of an elementwise step after the first are
    // those over the dimensions of the result that it takes.
    FixedCall call;
    std::map<std::string, double> reals;  // the values of real scalars
    // By operand: whether it is the result of the step before. The other operands are inputs of the
    // fused op, in the order of the steps.
    std::vector<bool> takes_result;
    std::string variant = {};  // of its algorithm; "" for the most general one that takes the call
};

// Returns the op, which has no reference. Its inputs have the names of the steps' operands, with
// numbers where two are equal, and its output has that of the last step. All steps compute in one
// dtype, which is the op's only type variable. The op is built with fixed_call_of(steps).
OpPtr fused_op(std::vector<FusedStep> steps);

// Returns the call that fused_op() of these steps is built for.
FixedCall fixed_call_of(const std::vector<FusedStep> &steps);

}  // namespace halyard::c99
