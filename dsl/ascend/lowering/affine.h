// Index expressions as what they are to hardware: a base, and a stride for each loop.
#pragma once
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "Halide.h"

namespace halyard::ascend {

// A loop of a nest; it begins at 0 and its length is a number.
struct Loop {
    std::string var;
    int64_t extent = 1;
};

// index = base + sum of stride[k] * loops[k]. `hard` holds the loops in which it isn't that; base
// is undefined unless it is empty.
struct Affine {
    Halide::Expr base;
    std::vector<int64_t> stride;
    std::set<std::string> hard;
};
Affine affine(const Halide::Expr &index, const std::vector<Loop> &loops);

// Loops in which one iteration may read at `read` what another one writes at `written`; all that
// either uses, where that isn't known.
std::set<std::string> carrying(const Halide::Expr &written, const Halide::Expr &read,
                               const std::vector<Loop> &loops);

// The value of an integer expression where every variable has one, and every load one under its
// buffer's name. Throws Error on anything else.
using Lookup = std::function<int64_t(const std::string &variable)>;
int64_t evaluate(const Halide::Expr &e, const Lookup &lookup);

}  // namespace halyard::ascend
