// fma.rn of f32 and f64, with the processor's instruction where it has one.
#pragma once
#include "gpu/machine/program.h"

namespace halyard::ptx {

// Returns null for types and modifiers that PTX doesn't have.
Execute fma_of(const TypeName &type, bool flushes, bool saturates);

}  // namespace halyard::ptx
