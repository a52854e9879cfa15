// Stores that update a buffer: the operation, and the term that is combined with the stored value.
#pragma once
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "Halide.h"
#include "ascend/program/ir.h"
#include "dsl/ascend/lowering/affine.h"

namespace halyard::ascend {

// Returns the loads of an expression, each once.
std::vector<const Halide::Internal::Load *> loads_of(const Halide::Expr &e);
// Returns true if an expression loads reals. Such a condition is no branch of the scalar unit,
// whose registers can't hold the result of a comparison of reals.
bool reads_reals(const Halide::Expr &e);
// Returns the names of the buffers that a store reads.
std::set<std::string> read_by(const Halide::Internal::Store &s);

// Returns the loops in which an index of the store, or of one of its loads, isn't linear.
std::set<std::string> nonlinear_loops(const Halide::Internal::Store &s,
                                      const std::vector<Loop> &loops);

// Returns the factors of a product; both are undefined if `e` is none.
std::pair<Halide::Expr, Halide::Expr> factors_of(const Halide::Expr &e);

// acc = op(acc, term). The term is undefined if the store is no such update.
struct Update {
    dv::VecOp op = dv::VecOp::add;
    Halide::Expr term;
};
Update update_of(const Halide::Internal::Store &s);

}  // namespace halyard::ascend
