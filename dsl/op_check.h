// Checks of an op before any of its kernels is compiled. All throw Error with the line of the op
// file.
#pragma once
#include "dsl/directives.h"
#include "dsl/op.h"

namespace halyard {

// Returns the line of the op file that contains `text` in quotes, or else `otherwise`, or else that
// of the op's constructor: "kernels/rowwise/softmax.cpp:41".
std::string line_of(const Op &op, const std::string &text, const std::string &otherwise = "");

// Throws AttrError if a sample or benchmark problem names something that the op does not have, or
// leaves a dimension without a value.
void check_record(const Op &op);

// Checks the algorithm; `directives` are the definitions that op.algorithm() made. Throws Error if
//   - an output is not defined, or has an update;
//   - an input is not read, and no dimension is known from it alone;
//   - a constant was written as a float, so that f64 kernels would lose digits;
//   - the index of an update of a Tuple depends on that Tuple.
void check_algorithm(const Op &op, const std::vector<Directive> &directives);

}  // namespace halyard
