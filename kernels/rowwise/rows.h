// Rows: the base of ops that reduce within rows of c elements. One schedule serves softmax, cross
// entropy, their gradients and the norms.
#pragma once
#include <cmath>

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

    // algorithm() lists its intermediate Funcs here; the schedule treats the Funcs of a list alike.
    std::vector<Func> row_reductions;  // of (n): updated over k
    std::vector<Func> row_maps;        // of (c, n): stored for later stages, not computed again
    // of (c, n): inlined, but stored by the variant "wide", which prefetches where it stores them
    std::vector<Func> prefetching_maps;
    std::vector<Func> row_scalars;  // of (n): computed once per row, not once per element

    using Op::schedule;
    void schedule(const Gpu &gpu) override;

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
