// A map with padding around it, as a stage of its own. The map is copied, so that its readers need
// no test.
#pragma once
#include <string>

#include "dsl/backend.h"

namespace halyard {

// One spatial dimension of a padded map.
struct Margin {
    Halide::Expr extent, before;  // the map's extent, and the padding in front of it
    int step = 1;                 // the distance of its elements, with padding between them
};
struct PaddedMap {
    // Reads map(x, y, k, n) only inside of the map. The padding is `around`, by default 0.
    PaddedMap(const std::string &name, const Halide::Func &map, const Margin &across,
              const Margin &down, const Halide::Expr &around = {});
    // Returns the same in one pass, row by row as they are needed: each vector is read under a
    // mask. The map is a tensor with stride 1 in x and elements of 32 bits; the padding is 0.
    static PaddedMap masked(const std::string &name, const Halide::Func &map, const Margin &across,
                            const Margin &down);
    // Computes the copy at loop v of f, vectorised by `lanes`. `hoist` is a loop around v that
    // allocates it, for many small maps at once.
    void compute_at(const Halide::Func &f, const Halide::VarOrRVar &v, int lanes,
                    const Halide::Var *hoist = nullptr) const;
    // Computes the masks of a masked() map that is read by vectors instead of copied.
    void compute_masks(int lanes) const;
    Halide::Expr operator()(const Halide::Expr &x, const Halide::Expr &y, const Halide::Expr &k,
                            const Halide::Expr &n) const {
        return f(x, y, k, n);
    }
    PaddedMap() = default;
    Halide::Func f;
    Halide::Func columns, lines;  // the masks: -1 inside of the map, 0 in the padding
    Halide::RDom pixel;           // of the map; undefined if masked
    bool by_rows = false;         // masked: each row can be made without the others
};

}  // namespace halyard
