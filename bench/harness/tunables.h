// Tunables: values for a schedule's free choices, as they are typed: "rows=4".
#pragma once
#include "dsl/kernel.h"

namespace halyard::bench {

// For kernel `baseline` of an op in op_table(). Throws AttrError for what its schedule, as it is by
// default, doesn't offer: it was written for no other value.
Tunables tunables_from(const std::string &op, const Instance &baseline,
                       const std::vector<std::string> &texts);

}  // namespace halyard::bench
