// What can be wrong with an op before anything of it is compiled. All throw Error with the line of
// the op's source.
#pragma once
#include "dsl/directives.h"
#include "dsl/op.h"

namespace halyard {

// The line of the op's file that has this text in quotes, else that of its constructor:
// "kernels/rowwise/softmax.cpp:41".
std::string line_of(const Op &op, const std::string &text);

// A sample or a bench problem that names what the op doesn't have, or leaves a dimension open.
void check_record(const Op &op);

// After op.algorithm(), of which `directives` are the definitions: an output that is undefined or
// updated, an input that neither is read nor sizes anything, constants that were rounded to float,
// an update of a Tuple at a place that the Tuple itself says.
void check_algorithm(const Op &op, const std::vector<Directive> &directives);

}  // namespace halyard
