// Checks of the arguments of a composite. They throw an error of the call's op that names the
// argument and both values.
#pragma once
#include <string>

#include "primitives/composites/composite.h"

namespace halyard {

inline void expect_rank(const Call &call, const char *name, const Tensor &t, int rank) {
    if (t.rank() != rank) {
        throw ShapeError(call.op(), std::string(name) + " has rank " + std::to_string(t.rank()) +
                                        ", expected " + std::to_string(rank));
    }
}

inline void expect_extent(const Call &call, const char *name, int64_t got, const char *as,
                          int64_t expected) {
    if (got != expected) {
        throw ShapeError(call.op(), std::string(name) + " is " + std::to_string(got) +
                                        ", expected " + std::to_string(expected) + " as " + as);
    }
}

inline void expect_dtype(const Call &call, const char *name, const Tensor &t, DType dtype) {
    if (t.dtype() != dtype) {
        throw DTypeError(call.op(), std::string(name) + " is " + name_of(t.dtype()) +
                                        ", expected " + name_of(dtype));
    }
}

}  // namespace halyard
