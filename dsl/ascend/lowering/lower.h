// Lowering: from a scheduled kernel to Da Vinci programs.
//
// Halide's conceptual statement is traversed once (lower.cpp). A nest of loops around one store is
// lowered as a whole (nest.h): indices to a base and strides (affine.h), copies to bursts (move.h),
// expressions to vector instructions (values.h, vector.h), reductions to trees of them (reduce.h),
// products of matrices to fractals (cube.h). All else is computed by the scalar unit, element by
// element, with a warning. The result has no Halide types; ascend/passes places its buffers and
// synchronises it.
#pragma once
#include <string>
#include <vector>

#include "ascend/program/ir.h"
#include "dsl/kernel.h"

namespace halyard::ascend {

// Programs that run one after the other. All have the same tensors (inputs, outputs, then
// workspaces) and the same scalars.
struct Lowered {
    std::vector<dv::Program> programs;
    std::vector<std::string> warnings;
    // Functions that compute the programs' scalars from the values of the record's scalars, in its
    // order.
    std::vector<std::function<double(const std::vector<double> &)>> scalars;
};

// Lowers a kernel. Throws DispatchError if the op has no Ascend program; with `strict` also if the
// scalar unit would compute elements.
Lowered lower(Kernel &k, bool strict = false);

}  // namespace halyard::ascend
