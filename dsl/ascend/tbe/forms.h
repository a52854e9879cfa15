// An Ascend kernel in the languages that it can be read in.
#pragma once
#include <string>

#include "dsl/kernel.h"

namespace halyard::ascend {

// `form` is dv (the program, placed and synchronised), tik, ascendc, or tbe, which takes an
// unscheduled kernel. Throws DispatchError where the op has no program that fits the chip, and
// AttrError "E-EMIT: .." for what the language can't say.
std::string text_of(Kernel &k, const std::string &form);

}  // namespace halyard::ascend
