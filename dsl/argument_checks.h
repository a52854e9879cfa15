// Removal of the checks with which Halide's kernels begin: types, extents and strides of the
// arguments, and that every access is within them. Kernels are only called through a plan, which
// has established all of that once for every call of its kind.
#pragma once
#include "Halide.h"

namespace halyard {

// Makes every compilation of the pipeline omit the checks of its arguments. Checks of anything else
// remain: allocations that fail, bounds within the pipeline, and cases that a schedule excludes.
// Small calls take 0.7 to 0.8 of the time without the checks, and code is a quarter smaller
// (docs/performance.md, "Argument checks").
void remove_argument_checks(Halide::Pipeline &pipeline);

}  // namespace halyard
