// Moves between global memory and the chip: emits the bursts of a nest of loops that only copies.
#pragma once
#include <cstdint>
#include <vector>

#include "dsl/ascend/lowering/writer.h"
#include "registry/base/error.h"

namespace halyard::ascend {

// Thrown if cores would change the same blocks of GM in part. One core alone may do that.
struct SharedBlocks : DispatchError {
    SharedBlocks(const std::string &stage, const std::string &tensor)
        : DispatchError("ascend",
                        stage + ": cores would change the same blocks of " + tensor + " in part") {}
};

// Emits dst[...] = src[...] over loops of these extents; one side is in GM. A burst reads up to the
// end of its last block, but GM isn't written beyond the elements: the scalar unit assembles a last
// block that isn't full. Throws NotVectorizable if an operand on the chip isn't aligned, and
// SharedBlocks if cores would change the same blocks of GM in part.
void move(Writer &w, const std::vector<int64_t> &extents, const Operand &dst, const Operand &src);

}  // namespace halyard::ascend
