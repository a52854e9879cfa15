// Code that aborts where a planted fault (dsl/mutate.h) would make a difference.
#pragma once
#include <vector>

#include "Halide.h"

namespace halyard {

// A call of abort().
Halide::Expr abort_call();
Halide::Internal::Stmt abort_before(const Halide::Internal::Stmt &s);

// Returns an expression that aborts if `condition` is true in any lane, and otherwise is `value`.
Halide::Expr abort_if(const Halide::Expr &condition, const Halide::Expr &value);

// Returns a condition that is true if the bits of `a` and `b` differ.
Halide::Expr differ(const Halide::Expr &a, const Halide::Expr &b);

// The conditions under which the value of an expression is used: those of the selects around it and
// the mask of its store.
class UseConditions {
public:
    void push(const Halide::Expr &condition) { all_.push_back(condition); }
    void pop() { all_.pop_back(); }
    // Returns `condition`, where the conditions hold. A scalar within vectors is used if one of
    // their lanes is.
    Halide::Expr where_used(Halide::Expr condition) const;
    // Returns true if the value isn't used where these integers are equal.
    bool exclude_equality(const Halide::Expr &a, const Halide::Expr &b) const;

private:
    std::vector<Halide::Expr> all_;
};

}  // namespace halyard
