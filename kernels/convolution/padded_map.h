// A map with padding around it, as a stage of its own: the map is copied as it lies, so that what
// reads it needs no test.
#pragma once
#include <string>

#include "dsl/backend.h"

namespace halyard {

// One spatial dimension of a padded map.
struct Margin {
    Halide::Expr extent, before;  // of the map; padding in front of it
    int step = 1;                 // between its elements, with padding between
};
struct PaddedMap {
    // map(x, y, k, n) is asked for inside of the map alone; `around`: the padding, 0 where not
    // given.
    PaddedMap(const std::string &name, const Halide::Func &map, const Margin &across,
              const Margin &down, const Halide::Expr &around = {});
    // The same in one pass, row by row as they are needed: each vector is read under a mask. Of a
    // tensor with stride 1 in x and elements of 32 bits, padded with 0.
    static PaddedMap masked(const std::string &name, const Halide::Func &map, const Margin &across,
                            const Margin &down);
    // hoist: the loop around v that allocates it, where v's own would do so for every small map.
    void compute_at(const Halide::Func &f, const Halide::VarOrRVar &v, int lanes,
                    const Halide::Var *hoist = nullptr) const;
    void compute_masks(int lanes) const;  // where the map isn't copied, but read by vectors
    Halide::Expr operator()(const Halide::Expr &x, const Halide::Expr &y, const Halide::Expr &k,
                            const Halide::Expr &n) const {
        return f(x, y, k, n);
    }
    PaddedMap() = default;
    Halide::Func f;
    Halide::Func columns, lines;  // where by_rows is true: -1 inside of the map, 0 in the padding
    Halide::RDom pixel;           // of the map, where by_rows is false
    bool by_rows = false;         // any rows of the copy can be made without the others
};

}  // namespace halyard
