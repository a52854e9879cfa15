// Extensions: instructions that no ISA level includes. A variant that declares one is compiled for
// AVX-512 with the extension, and selected on CPUs that have it. That keeps the number of levels at
// three; an extension costs one kernel per dtype of the ops that use it.
//   vnni   8-bit and bf16 dot products, and the instructions introduced with them (CPUs from Zen 4
//          and Sapphire Rapids on)
//   amx    the same products of matrices in tile registers (CPUs from Sapphire Rapids on), if the
//          system lets this process use them
#pragma once
#include <string>

#include "registry/op/op_record.h"

namespace halyard {

const char *name_of(Extension extension);
// Returns true if this CPU has the extension.
bool host_has(Extension extension);
// Returns true if there are kernels of a variant with this extension for the level.
bool builds(Extension extension, Isa isa);
// Returns the extension that the op's variant of this name declares; none if there is no such
// variant.
Extension extension_of(const OpRecord &op, const std::string &variant);

}  // namespace halyard
