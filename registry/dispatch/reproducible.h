// Reproducible mode: the same bits on every CPU.
//
// Kernels of different instruction sets sum in different numbers of lanes and may round a product
// before adding it. In this mode dispatch uses baseline kernels only, so that the same instructions
// run on every CPU. As always, results don't depend on the number of threads or on the memory of
// tensors. f64 kernels call the C library (exp, log, sin, pow and similar), which may select its
// code by CPU: their bits are the same for one C library on CPUs for which it selects the same
// code.
#pragma once

namespace halyard {

// The initial value is HALYARD_REPRODUCIBLE: 1, or 0 or empty; another value throws AttrError.
bool reproducible();
// Applies to the whole process. Calls that run meanwhile may use either mode.
void set_reproducible(bool now);

}  // namespace halyard
