// How far apart two names are, for "did you mean".
#pragma once
#include <string>

namespace halyard {

// letters put in, left out or changed
int edit_distance(const std::string &a, const std::string &b);

}  // namespace halyard
