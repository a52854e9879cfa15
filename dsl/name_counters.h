// The counters that Halide appends to names to make them unique.
#pragma once
#include <string>

namespace halyard {

// Returns `text` without the counters in names, which depend on what was compiled before: relu$3
// becomes relu, and t74 and t75 become t0 and t1. Names that differ only in their counters are
// numbered in the order in which they occur: sum, sum$1.
std::string without_counters(const std::string &text);

}  // namespace halyard
