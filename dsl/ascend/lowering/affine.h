// Index expressions as a base and a stride for each loop.
#pragma once
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "Halide.h"

namespace halyard::ascend {

// A loop of a nest. It begins at 0 and has a constant number of iterations.
struct Loop {
    std::string var;
    int64_t extent = 1;
};

// index = base + sum of stride[k] * loops[k]. `nonlinear` has the loops in which the index isn't
// linear; unless it is empty, `base` is undefined.
struct Affine {
    Halide::Expr base;
    std::vector<int64_t> stride;
    std::set<std::string> nonlinear;
};
Affine affine(const Halide::Expr &index, const std::vector<Loop> &loops);

// Returns the loops in which one iteration may read at index `read` what another one writes at
// `written`. If that can't be decided, returns all loops that either index uses.
std::set<std::string> carried_dependences(const Halide::Expr &written, const Halide::Expr &read,
                                          const std::vector<Loop> &loops);

// Returns the value of an integer expression. `lookup` gives the values of variables, and of loads
// by the name of their buffer. Throws Error for other expressions.
using Lookup = std::function<int64_t(const std::string &variable)>;
int64_t evaluate(const Halide::Expr &e, const Lookup &lookup);

}  // namespace halyard::ascend
