// Peaks: how fast the calling thread multiplies and adds.
#pragma once
#include <cstdint>

#include "registry/op/op_record.h"
#include "registry/tensor/dtype.h"

namespace halyard::roofs {

// Runs `rounds` rounds of independent chains of x = x * a + b in registers, with vectors as wide as
// `isa` has. f16 and bf16 operands come from L1 and are converted to f32 before each
// multiplication. Baseline has no fused multiply-add and uses two instructions. Returns the number
// of operations (two each), or 0 if the ISA has no instruction for the dtype.
int64_t multiply_add(Isa isa, DType t, int64_t rounds);

}  // namespace halyard::roofs
