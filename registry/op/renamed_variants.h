// The names that variants had in earlier versions. Tuning records, repro commands and scripts may
// still use them.
#pragma once
#include <string>

namespace halyard {

// Returns the present name of the variant of `op` that `name` refers to: `name` itself, unless the
// variant has been renamed.
std::string present_variant_name(const std::string &op, const std::string &name);

}  // namespace halyard
