// Rows: the base of ops that reduce within rows of c elements. One schedule serves softmax, cross
// entropy, their gradients and the norms.
#pragma once
#include <string>
#include <vector>

#include "dsl/op.h"

namespace halyard {

struct Rows : Op {
    // Adds the attribute `axis` to a signature with collapsed dimensions (`x[..n,c]`), unless
    // `along_axis` is false. The first output has the dimensions (c, n), or (n) if it is one number
    // per row.
    Rows(const std::string &name, const std::string &signature, bool along_axis = true);

    // A reduction keeps this many vectors of partial results, so that an addition doesn't wait for
    // the one before. Rows of at least `accumulators * lanes` elements need no guards.
    static constexpr int accumulators = 4;

    Var c{"c"}, n{"n"};
    RDom k;  // runs over a row

    // algorithm() lists its intermediate Funcs here. The schedule treats the Funcs of a list alike.
    // A Func that is in no list is inlined: it is computed wherever a stage reads it.

    // Funcs of (n) that are updated over k. They are vectorised, and stored for a block of rows.
    std::vector<Func> row_reductions;
    // Funcs of (c, n) that several stages read. They are stored for a block of rows instead of
    // computed again.
    std::vector<Func> row_maps;
    // Funcs of (c, n) that one stage reads. The variant "wide" stores them like row_maps, as it
    // prefetches the next rows in the loops that store maps. The variant "short" doesn't prefetch,
    // so it inlines them.
    std::vector<Func> prefetching_maps;
    // Funcs of (n) that are computed once per row, and not once per element.
    std::vector<Func> row_scalars;

    using Op::schedule;

private:
    Expr rows_per_task() const;
    std::vector<Func> stored_maps(std::vector<Func> maps) const;
    void schedule_wide(const Cpu &cpu);
    void schedule_short(const Cpu &cpu);
};

// Reduces f's update over k in `Rows::accumulators` vectors of partial results, which are folded by
// halves. The partial results are computed for each `row`, a Var of f.
void reduce_in_lanes(Halide::Func f, const Halide::RVar &k, const Halide::Var &row, int lanes);

}  // namespace halyard
