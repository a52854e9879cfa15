// The constants of an op's formulas: where a formula has several cases, they change there.
#pragma once
#include <string>
#include <vector>

namespace halyard {

// Returns the finite constants in the definitions of the op's kernel for these dtypes ("f32"), in
// ascending order of their magnitudes and without signs. An integer constant that is the bits of an
// f32 of normal magnitude counts as that number: formulas compare bits. The list is computed once
// for an op and its dtypes, and is empty for an op that isn't in op_table(). Throws DTypeError if
// the op has no such kernel.
const std::vector<double> &formula_constants(const std::string &op, const std::string &dtypes);

}  // namespace halyard
