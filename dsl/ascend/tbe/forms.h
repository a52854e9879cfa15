// The text forms of an Ascend kernel.
#pragma once
#include <string>

#include "dsl/kernel.h"

namespace halyard::ascend {

// Returns the kernel in `form`: "dv" (the program with addresses and flags), "tik", "ascendc", or
// "tbe", which takes an unscheduled kernel. Throws DispatchError if the op has no program that fits
// the chip, and AttrError "E-EMIT: .." for what the language can't express.
std::string text_of(Kernel &k, const std::string &form);

}  // namespace halyard::ascend
