// The memory of a network in integers.
#pragma once
#include <map>

#include "tools/export/int8_network.h"

namespace halyard::exporting {

// Where temporaries are, in bytes from the arena's start.
struct ArenaPlan {
    std::map<int, int64_t> offsets;  // by buffer
    // Those rows of the input that one row of the first step's result needs; -1: the whole input is
    // a temporary, or it is the caller's.
    int64_t rows = -1;
    int64_t bytes = 0;
};

// Returns the number of x's rows that a row of y is computed from.
int64_t rows_of_window(const Convolution &c);

// Returns the graph's plan of memory for tensors of i8. `is_i8`: input and output are the caller's;
// otherwise the caller's are floats.
ArenaPlan arena_of(const Int8Network &network, bool is_i8);

}  // namespace halyard::exporting
