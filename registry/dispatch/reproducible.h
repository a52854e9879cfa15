// Reproducible mode: the same bits on every CPU.
//
// Instruction sets differ in how many lanes a sum has and in whether a product is rounded before it
// is added, and so do the kernels made for them. In this mode dispatch takes baseline kernels only,
// whatever the CPU has: the same instructions run everywhere, and as always no result depends on
// the number of threads or on where tensors lie. What f64 kernels call of the C library (exp, log,
// sin, pow and their like) it may choose by CPU: those bits hold for one C library on CPUs that it
// treats alike.
#pragma once

namespace halyard {

// at first what HALYARD_REPRODUCIBLE says: 1, or 0 or nothing; other words throw AttrError
bool reproducible();
void set_reproducible(bool now);  // for the whole process; calls that run meanwhile may use either

}  // namespace halyard
