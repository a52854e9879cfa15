// Extensions: instructions that no ISA level promises. A variant named after one is built for
// AVX-512 with it, and taken where the CPU has it. So levels stay three, and what an extension is
// worth to one op costs one kernel per dtype.
//   vnni   8-bit and bf16 dot products, and what came with them (CPUs from Zen 4 and Sapphire
//   Rapids on)
#pragma once
#include <string>

#include "registry/op/op_record.h"

namespace halyard {

bool is_extension(const std::string &variant);
// false where it is an extension that this CPU lacks
bool host_runs(const std::string &variant);
bool builds(const std::string &variant, Isa isa);  // is there a kernel of it for this level?

}  // namespace halyard
