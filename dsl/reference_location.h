// reference_location: the line in which a reference reads what isn't there.
#pragma once
#include <string>

namespace halyard {

// Returns the innermost call outside of the kit around the registry's function that asks for it:
// "kernels/rowwise/softmax.cpp:41", or "" if it is unknown. set_author_location() takes it.
std::string reference_location();

}  // namespace halyard
