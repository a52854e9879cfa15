// Lowering: from a scheduled kernel to Da Vinci programs.
//
// Halide's conceptual statement is walked once (ascend/lower.cpp). A nest of loops around one store
// is taken apart as a whole: indices into base and strides (affine.h), copies into bursts (move.h),
// expressions into vector instructions (values.h, vector.h), reductions into trees of them
// (reduce.h), products of matrices into fractals (cube.h). What none of these can say runs on the
// scalar unit, element by element, with a warning. Below this line no Halide type is left: placing
// buffers and synchronising is ascend/'s.
#pragma once
#include <string>
#include <vector>

#include "ascend/program/ir.h"
#include "dsl/kernel.h"

namespace halyard::ascend {

// Programs that run one after the other. All have the same tensors, inputs, outputs, then
// workspaces, and the same scalars.
struct Lowered {
    std::vector<dv::Program> programs;
    std::vector<std::string> warnings;
    // The values of the programs' scalars at a call: of numbers, in the record's order, of which
    // real ones count.
    std::vector<std::function<double(const std::vector<double> &)>> scalars;
};

// Throws DispatchError where the op can't be had on the chip; with `strict` also where the scalar
// unit would have to step in.
Lowered lower(Kernel &k, bool strict = false);

}  // namespace halyard::ascend
