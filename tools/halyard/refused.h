// What the simulated Ascend device has no program for, held against a list that may only become shorter.
#pragma once
#include <string>

#include "tools/halyard/check_json.h"

namespace halyard::command {

// Prints how many ops, by their dtypes, were refused. With the path of a list, lines of "op dtypes: why", each refusal that isn't in it is
// printed as a failure; so is, where `all` samples were run, each line that is refused no longer. Returns the number of these failures.
// Dtypes that the chip lacks altogether are no matter of an op, and in no list.
int judge_refusals(const CheckRun &run, const std::string &list, bool all);

}  // namespace halyard::command
