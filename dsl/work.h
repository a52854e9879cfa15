// Work: what an op has to compute and to move for one problem, counted from its definitions.
// Nothing is compiled.
//
// Operations are those of the algorithm as written over the reals, each Func computed once wherever
// it is needed: every + - * / % max min and comparison of reals is one, abs and roundings too; a
// function (exp, sqrt, erf) is one as well, and listed by name. What depends on neither a loop nor
// data (1 / (1 - p)), selects, and integer arithmetic (indices, random bits) are none. An RDom's
// predicate counts exactly. A Func that is indexed by data is taken to be needed at as many places
// as there are indices.
#pragma once
#include "dsl/integer_value.h"
#include "dsl/op.h"
#include "registry/op/signature.h"

namespace halyard {

struct Work {
    int64_t arithmetic = 0;
    std::map<std::string, int64_t> functions;  // "exp_nonpositive" -> calls
    // tensor -> its elements that are touched at least once
    std::map<std::string, int64_t> read, written;
    int64_t operations() const;  // arithmetic and functions
};

// Of a fresh `op`: its algorithm is defined here. `dims` are the problem's dimensions, attributes,
// lets and derived scalars. Variants may compute the same in other ways (Winograd): `variant`, and
// `lanes` for those that lay out their stages in blocks of vectors. Throws ShapeError or AttrError
// for dims that don't fit, Error where a definition has bounds that dims don't settle.
Work work_of(Op &op, const Dims &dims, const std::string &variant, int lanes = 4);

// What expressions over the op's parameters and dense tensors may ask for: its scalars by name, and
// x.min.0, x.extent.0, x.stride.0 of each dimension of x, innermost first; of an output under its
// Func's name.
IntegerBindings bindings_of(const Op &op, const Dims &dims);

// Of the variant that is the plain statement of the op: the last one, which takes every shape.
Work work_of(const OpTable &ops, const std::string &op, const Dims &dims);

}  // namespace halyard
