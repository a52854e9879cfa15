// Sums of products in l0c: finds the loops of a nest that are the rows, columns and depth of a
// product of matrices.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "dsl/ascend/lowering/lowering_context.h"

namespace halyard::ascend {

// Emits the product of matrices that the store adds to an accumulator in l0c. The first product
// overwrites the accumulator: at run time `earlier` is 0 unless loops around have added terms
// before. Loops that are neither rows, nor columns, nor depth must run around the product: if there
// are such loops, nothing is emitted and they are returned. Throws DispatchError unless the store
// adds products of two f16 tensors.
std::set<std::string> lower_sums(LoweringContext &s, const std::vector<Loop> &loops,
                                 const Halide::Internal::Store &store, const dv::Expr &earlier);

}  // namespace halyard::ascend
