// Tunables as they are typed: "rows=4".
#pragma once
#include "dsl/kernel.h"

namespace halyard::bench {

// Returns the tunables that `texts` set for kernel `baseline` of an op in op_table(). Throws
// AttrError for a name or a value that its default schedule doesn't offer.
Tunables tunables_from(const std::string &op, const Instance &baseline,
                       const std::vector<std::string> &texts);

}  // namespace halyard::bench
