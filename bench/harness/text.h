// Text helpers that the measuring engine and the commands share.
#pragma once
#include <sstream>
#include <string>

namespace halyard::bench {

// Returns the elements of `list` as one text, with `separator` between them: "1, 2, 3".
template<class List> std::string join(const List &list, const char *separator = ", ") {
    std::ostringstream s;
    for (auto &e : list)
        s << (s.tellp() > 0 ? separator : "") << e;
    return s.str();
}

}  // namespace halyard::bench
