// Sums and products that must round by themselves, in CUDA kernels.
#pragma once
#include "Halide.h"

namespace halyard::gpu {

// Makes every compilation of the pipeline call CUDA's functions that round once (__nv_fadd_rn,
// __nv_fmul_rn) for strict sums, differences and products of f32. LLVM's generator of PTX fuses a
// product and a sum wherever it may, those of strict_float() too, and takes from double-floats what
// their second part corrects.
void keep_strict_operations(Halide::Pipeline &pipeline);

}  // namespace halyard::gpu
