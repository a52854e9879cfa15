// Random orders of the data pipeline.
#pragma once
#include "primitives/random.h"

namespace halyard::dataset {

// The numbers of one pass over the step at `depth`. The top bit keeps them apart from the streams of initialisers and dropout.
inline Random order_of(uint64_t depth, uint64_t pass) { return {get_seed(), 1ull << 63 | depth << 48 | (pass & 0xffffffffffff)}; }

}  // namespace halyard::dataset
