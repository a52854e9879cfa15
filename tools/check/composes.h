// Compositions: an op that another one feeds, and an op that feeds another one, as chains of two
// (dsl/chain.h). A check of each says whether graph mode may put them into one kernel.
#pragma once
#include <string>
#include <vector>

#include "tools/check/check.h"

namespace halyard::check {

// Adds the compositions of these ops to the ops of this process, each as an op of its own:
// softmax_fed_x, whose input x is negated before, and softmax_then_neg, whose result is. Ops with
// several outputs have none. Returns their names. Call it before threads call ops.
std::vector<std::string> add_compositions(const std::vector<std::string> &ops);

// Proves the schedule of each variant in exact mode, and compares the bits of each with those of
// the two ops, one after the other. A composition that can't be compiled is skipped with the
// reason, and so are bits that differ: such a composition changes the order of a sum.
void check_composes(const Op &op, const Options &o, Report &r);

}  // namespace halyard::check
