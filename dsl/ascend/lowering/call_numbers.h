// Numbers that a program gets at its call: each expression of nothing but the op's scalars is one,
// computed where the program is called.
#pragma once
#include <functional>
#include <vector>

#include "Halide.h"
#include "ascend/program/ir.h"
#include "registry/op/op_record.h"

namespace halyard::ascend {

class CallNumbers {
public:
    // The program's scalar for e; equal expressions share one.
    dv::Number of(const Halide::Expr &e);
    std::vector<dv::ScalarParam> parameters() const;
    // What each is at a call: of the values of the record's scalars, in its order. They throw
    // DispatchError for an expression that has none.
    std::vector<std::function<double(const std::vector<double> &)>> values(
        const OpRecord &op) const;

private:
    std::vector<Halide::Expr> expressions_;
};

}  // namespace halyard::ascend
