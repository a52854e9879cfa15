// A model of the chip's L2. It has a line of 512 B if no more bytes than its capacity have been
// moved since the last access, with the moves of all cores taken in turn (ASSUMED: the hardware's
// replacement isn't published).
#pragma once
#include "ascend/simulator/cost.h"

namespace halyard::dv {

// Returns for each block, for each of its moves, the share of the bytes that L2 has. Blocks b, b +
// cores,
// .. run on one core.
std::vector<std::vector<float>> l2_hits(
    const Profile &chip, int cores, int64_t blocks,
    const std::function<const std::vector<Traffic> &(int64_t block)> &traffic);

}  // namespace halyard::dv
