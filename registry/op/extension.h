// Extensions: instructions that no ISA level includes. A variant named after an extension is
// compiled for AVX-512 with that extension, and selected on CPUs that have it. That keeps the
// number of levels at three; an extension costs one kernel per dtype of the ops that use it.
//   vnni   8-bit and bf16 dot products, and the instructions introduced with them (CPUs from Zen 4
//          and Sapphire Rapids on)
#pragma once
#include <string>

#include "registry/op/op_record.h"

namespace halyard {

bool is_extension(const std::string &variant);
// Returns false for an extension that this CPU lacks.
bool host_runs(const std::string &variant);
// Returns true if there is a kernel of the variant for this level.
bool builds(const std::string &variant, Isa isa);

}  // namespace halyard
