// Picks: values for a schedule's free choices, as they are typed: "rows=4".
#pragma once
#include <sstream>

#include "dsl/kernel.h"

namespace halyard::command {

template<class List> std::string listed(const List &list, const char *between = ", ") {
    std::ostringstream s;
    for (auto &e : list)
        s << (s.tellp() > 0 ? between : "") << e;
    return s.str();
}

// For kernel `standard` of an op in op_table(). Throws AttrError for what its schedule, as it is by
// default, doesn't offer: it was written for no other value.
Picks picks_from(const std::string &op, const Instance &standard,
                 const std::vector<std::string> &texts);

}  // namespace halyard::command
