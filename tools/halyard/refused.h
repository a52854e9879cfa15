// What the simulated Ascend device has no program for, held against a list that may only become
// shorter.
#pragma once
#include <map>
#include <string>

#include "tools/check/check_json.h"

namespace halyard::command {

// Lines "op dtypes: why" as a map from "op dtypes" to why; # begins a comment. Throws IoError for a
// file that can't be read, and with the number of a line that is something else.
std::map<std::string, std::string> read_refusals(const std::string &path);

// Prints how many ops, by their dtypes, were refused. With the path of a list, lines of "op dtypes:
// why", each refusal that isn't in it is printed as a failure; so is, where `all` samples were run,
// each line that is refused no longer. Returns the number of these failures. Dtypes that the chip
// lacks altogether are no matter of an op, and in no list.
int judge_refusals(const check::CheckRun &run, const std::string &list, bool all);

}  // namespace halyard::command
