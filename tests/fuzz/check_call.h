// Makes a random call and says what is wrong with how it ends.
#pragma once
#include <string>

#include "tests/fuzz/random_call.h"

namespace halyard::fuzz {

struct Verdict {
    std::string wrong;     // "" for nothing
    bool refused = false;  // by an error of ours
};

// A call has to give results of the right shapes and dtypes and leave its inputs as they are, or to
// throw an error whose text names the op. However its tensors lie, where an extent of 1 stands for
// a whole dimension, and where it writes in place, the results are those of dense tensors of full
// size: bit for bit those of ops whose contract is exact, those of others within their contract.
Verdict judge(const RandomCall &call);

}  // namespace halyard::fuzz
