// Makes a random call and checks how it ends.
#pragma once
#include <string>

#include "tests/fuzz/random_call.h"

namespace halyard::fuzz {

struct CallResult {
    std::string wrong;      // "" for nothing
    bool rejected = false;  // The kit rejected the call.
};

// A call must give results of the right shapes and dtypes and leave its inputs unchanged, or throw
// an error that names the op. With any layout, with broadcast extents of 1 and in place, the
// results are those of dense tensors of full size: bit for bit if the op's contract is exact,
// within the contract otherwise.
CallResult check_call(const RandomCall &call);

}  // namespace halyard::fuzz
