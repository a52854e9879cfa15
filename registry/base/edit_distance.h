// The distance between two names, for "did you mean".
#pragma once
#include <string>

namespace halyard {

// Returns the number of letters inserted, deleted or replaced (Levenshtein distance).
int edit_distance(const std::string &a, const std::string &b);

}  // namespace halyard
