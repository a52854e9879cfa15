// How many registers a kernel needs at least.
#pragma once
#include "gpu/ptx/module.h"

namespace halyard::ptx {

// Returns the most 32-bit registers that are live at once in a thread; one of 64 bits counts twice,
// predicates don't count. ptxas takes a few more, because it keeps addresses and moves loads up.
uint32_t live_registers(const Entry &entry);

}  // namespace halyard::ptx
