// Vectors of two floats that Halide computes as arithmetic progressions.
#pragma once
#include <string>

#include "Halide.h"

namespace halyard {

// Returns true for kernels whose vectors have two elements: those of f64 on the CPU's baseline.
inline bool has_float_pairs(const std::string &backend, int lanes) {
    return backend == "cpu" && lanes == 2;
}
// Makes every compilation of the pipeline take the two elements of such a vector as they are.
// Halide's simplifier sees a progression in any two values: it makes ramp(a, b - a, 2) of the
// vector (a, b). Of floats, a + (b - a) is not b: it is rounded, and NaN if a or b is infinite.
void keep_float_pairs(Halide::Pipeline &pipeline);

}  // namespace halyard
