// Stores that the thread sanitizer doesn't see by itself.
#pragma once
#include <Halide.h>

namespace halyard {

// Makes every compilation of the pipeline tell the thread sanitizer of stores of more than 16
// adjacent bytes, which its instrumentation leaves out. Masked ones stay left out.
void announce_wide_stores(Halide::Pipeline &pipeline);

}  // namespace halyard
