// Update definitions: what a store combines with what was there.
#pragma once
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "Halide.h"
#include "ascend/program/ir.h"
#include "dsl/ascend/lowering/affine.h"

namespace halyard::ascend {

// The loads of an expression, each once.
std::vector<const Halide::Internal::Load *> loads_of(const Halide::Expr &e);
// The buffers that a store reads.
std::set<std::string> read_by(const Halide::Internal::Store &s);

// Loops in which an index of the store, or of what it reads, isn't linear.
std::set<std::string> hard_loops(const Halide::Internal::Store &s, const std::vector<Loop> &loops);

// What is multiplied; undefined where e is no product.
std::pair<Halide::Expr, Halide::Expr> factors_of(const Halide::Expr &e);

// acc = op(acc, term): the instruction and the term, which is undefined where the value is
// something else.
struct Update {
    dv::VecOp op = dv::VecOp::add;
    Halide::Expr term;
};
Update update_of(const Halide::Internal::Store &s);

}  // namespace halyard::ascend
