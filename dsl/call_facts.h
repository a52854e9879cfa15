// Call facts: what dispatch guarantees of every call of a kernel, as Halide expressions. Faults are
// not planted into code that no call can reach (dsl/mutate.h).
#pragma once
#include <map>
#include <string>
#include <vector>

#include "dsl/op.h"

namespace halyard {

struct CallFacts {
    // Values of the kernel's variables by their names in the lowered statement, over the op's
    // dimensions and attributes: "x.extent.0" and "dy.extent.0" are the same dimension, "x.min.0"
    // is 0.
    std::map<std::string, Halide::Expr> values;
    // The variant's condition, the op's conditions, and that every output has an element.
    std::vector<Halide::Expr> conditions;
};

// `op` has the definitions of the variant, whose schedule offered the tunables.
CallFacts facts_of(const Op &op, const std::string &variant, const Tunables &tunables, int lanes);

}  // namespace halyard
