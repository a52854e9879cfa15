// Tiles of what a nest reads where no vector instruction can: elements here and there, and indices
// that stand as values.
#pragma once
#include "dsl/ascend/lowering/nest.h"

namespace halyard::ascend {

// A store that reads at linear indices alone: what another one reads elsewhere lies in tiles.
struct Gathered {
    Halide::Internal::Stmt store;
    // then, by the scalar unit: a tile's results to their places; undefined where they are there
    // already
    Halide::Internal::Stmt scattered;
    std::vector<dv::Ref> tiles;  // temporaries, to give back behind the nest
};

// Loads whose index isn't linear along the lanes are put together by the scalar unit, with
// W-SCALAR; linear indices are counted by the vector unit. Other loops that an index isn't linear
// in stay as they are. With `unaligned` also what lies on the chip with gaps between the lanes, or
// not at blocks, the results included. Throws DispatchError for an index that the scalar unit can't
// compute.
Gathered gather(LoweringContext &s, const std::vector<Loop> &loops,
                const Halide::Internal::Store &store, bool unaligned);

}  // namespace halyard::ascend
