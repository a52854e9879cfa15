// The error of captured graphs.
#pragma once
#include "registry/base/error.h"

namespace halyard {

// A captured graph that no longer is what the program computes, or that can't be what is asked of
// it.
struct GraphError : Error {
    using Error::Error;
};

}  // namespace halyard
