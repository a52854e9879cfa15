// CallNumbers: the numbers that a program takes as arguments. Each is an expression of the op's
// scalars alone, which is evaluated when the program is called.
#pragma once
#include <functional>
#include <vector>

#include "Halide.h"
#include "ascend/program/ir.h"
#include "registry/op/op_record.h"

namespace halyard::ascend {

class CallNumbers {
public:
    // Returns the program's scalar for `e`; equal expressions share one.
    dv::Number of(const Halide::Expr &e);
    std::vector<dv::ScalarParam> parameters() const;
    // Returns a function for each scalar, which computes it from the values of the record's
    // scalars, in their order. The functions throw DispatchError for an expression that they can't
    // evaluate.
    std::vector<std::function<double(const std::vector<double> &)>> values(
        const OpRecord &op) const;

private:
    std::vector<Halide::Expr> expressions_;
};

}  // namespace halyard::ascend
