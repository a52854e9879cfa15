// A network in integers as C99.
#pragma once
#include "tools/c99/call_source.h"
#include "tools/export/int8_network.h"

namespace halyard::exporting {

// Returns the source of a function of x and y, which are f32 or, with `is_i8`, the integers
// themselves. Its temporaries stand in the arena by the graph's plan of memory, a byte an element.
// Of an input in f32 that a convolution alone reads, only the rows of a window are integers at a
// time.
c99::CallSource source_of(const Int8Network &network, const std::string &name, bool is_i8);

}  // namespace halyard::exporting
