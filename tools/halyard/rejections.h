// Compares the calls for which the simulated Ascend device has no program with a list that may only
// become shorter.
#pragma once
#include <map>
#include <string>

#include "tools/check/check_json.h"

namespace halyard::command {

// Reads lines "op dtypes: reason" into a map from "op dtypes" to the reason; # begins a comment.
// Throws IoError for a file that can't be read, and with the number of a malformed line.
std::map<std::string, std::string> read_rejections(const std::string &path);

// Prints how many pairs of op and dtypes were rejected. With the path of a list, prints as a
// failure each rejection that isn't in the list and, if `all` samples ran, each line of the list
// that is no longer rejected. Returns the number of these failures. Dtypes that the chip lacks are
// not counted as rejections.
int judge_rejections(const check::CheckRun &run, const std::string &list, bool all);

}  // namespace halyard::command
