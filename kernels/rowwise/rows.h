// Rows: ops that reduce within rows of c elements. One schedule serves softmax, cross entropy,
// their gradients and the norms.
#pragma once
#include <cmath>

#include "dsl/op.h"

namespace halyard {

struct Rows : Op {
    // x[..n,c] takes an axis unless told otherwise, x[n,c] doesn't. The first output is of (c, n)
    // or, a number for each row, of n.
    Rows(const std::string &name, const std::string &signature, bool along_axis = true);
    // vectors of partial totals: rows of as many elements are folded without guards
    static constexpr int chains = 4;
    Var c{"c"}, n{"n"};
    RDom k;
    std::vector<Func> totals, row_stages;  // Funcs of n; of (c, n)
    // pure Funcs of n, too dear to be computed for every element
    std::vector<Func> per_row;

    void schedule(const Cpu &cpu) override;
    void schedule(const Gpu &gpu) override;
};

// Reduces f's update over k in several vectors of partial results, which are folded by halves;
// computed for each `row`, a Var of f.
void reduce_in_lanes(Halide::Func f, const Halide::RVar &k, const Halide::Var &row, int lanes);

}  // namespace halyard
