// How far apart two names are, for "did you mean".
#pragma once
#include <string>

namespace halyard {

int edit_distance(const std::string &a, const std::string &b);  // letters put in, left out or changed

}  // namespace halyard
