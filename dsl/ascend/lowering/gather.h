// Gathering: copies elements that no vector instruction of a nest can load, and indices that are
// values, to tiles on the chip.
#pragma once
#include "dsl/ascend/lowering/lowering_context.h"

namespace halyard::ascend {

// A store all of whose loads are at linear indices, because the others have been copied to tiles.
struct Gathered {
    Halide::Internal::Stmt store;
    // Copies the results from a tile to their indices, by the scalar unit; undefined if `store`
    // stores them there.
    Halide::Internal::Stmt scattered;
    std::vector<dv::Ref> tiles;  // temporaries, which the caller gives back after the nest
};

// Emits the tiles of a store. Loads whose index isn't linear along the lanes are gathered by the
// scalar unit, with W-SCALAR; the vector unit computes linear indices that are values. Loops in
// which other indices aren't linear are unchanged. With `unaligned`, operands on the chip with gaps
// between lanes, or that aren't aligned to blocks, are copied, too, including the results. Throws
// DispatchError for an index that the scalar unit can't compute.
Gathered gather(LoweringContext &s, const std::vector<Loop> &loops,
                const Halide::Internal::Store &store, bool unaligned);

}  // namespace halyard::ascend
