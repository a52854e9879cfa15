// Moves between global memory and the chip: which bursts a loop nest that only copies becomes.
#pragma once
#include <cstdint>
#include <vector>

#include "dsl/ascend/lowering/writer.h"

namespace halyard::ascend {

// dst[...] = src[...] over loops of these extents, one side in GM. Elements beyond a burst's end
// are read up to the next block, and never written in GM: what doesn't fill its last block is put
// together by the scalar unit. Throws DispatchError where elements lie apart in GM and would have
// to be written one by one.
void move(Writer &w, const std::vector<int64_t> &extents, const Operand &dst, const Operand &src);

}  // namespace halyard::ascend
