// f16 and bf16 in kernels for GPUs.
#pragma once
#include "Halide.h"

namespace halyard::gpu {

// Makes every compilation of the pipeline hold 16-bit floats as integers of 16 bits and convert
// them from and to f32 by integer arithmetic, with one rounding, to nearest even. Halide's
// generator of PTX aborts on bf16, and flushes subnormals of f16. Kernels compute in f32, so they
// only convert, copy and compare 16-bit floats; other operations throw Halide::Error when the
// pipeline is compiled.
void hold_half_floats_as_integers(Halide::Pipeline &pipeline);

// The conversions, on integers of the same number of lanes.
Halide::Expr f32_of_f16(const Halide::Expr &bits);
Halide::Expr f32_of_bf16(const Halide::Expr &bits);
Halide::Expr f16_of_f32(const Halide::Expr &value);
Halide::Expr bf16_of_f32(const Halide::Expr &value);

}  // namespace halyard::gpu
