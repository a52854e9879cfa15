// Checks of a composite op's arguments. They throw with the op's name, the argument and both values.
#pragma once
#include <string>

#include "primitives/primitive.h"
#include "registry/base/error.h"

namespace halyard {

// Throws ShapeError unless `t` has that rank.
inline void expect_rank(const Attrs &a, const char *name, const Tensor &t, int rank) {
    if (t.rank() != rank) {
        throw ShapeError(a.op().name, std::string(name) + " has rank " + std::to_string(t.rank()) +
                                          ", expected " + std::to_string(rank));
    }
}

// Throws ShapeError unless the extent `name` is `expected`, which is the value of `as`.
inline void expect_extent(const Attrs &a, const char *name, int64_t got, const char *as,
                          int64_t expected) {
    if (got != expected) {
        throw ShapeError(a.op().name, std::string(name) + " is " + std::to_string(got) +
                                          ", expected " + std::to_string(expected) + " as " + as);
    }
}

}  // namespace halyard
