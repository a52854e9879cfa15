// Work: the operations and memory accesses that an op needs for one problem, counted from its
// definitions. Nothing is compiled.
//
// Operations are those of the algorithm over the reals, where each element of a Func is computed
// once. Each + - * / % max min and comparison of reals is one operation, and so are abs and
// rounding. Each function (exp, sqrt, erf) is one operation and is also listed by name. Not counted
// are selects, integer arithmetic (indices, random bits), and expressions that depend neither on a
// loop nor on data (1 / (1 - p)). Points of an RDom at which its predicate is false are not
// counted. If a Func is indexed by data, the number of its elements that are needed is taken to be
// the number of indices.
#pragma once
#include "dsl/integer_value.h"
#include "dsl/op.h"
#include "registry/op/signature.h"

namespace halyard {

struct Work {
    int64_t arithmetic = 0;                    // operations other than functions
    std::map<std::string, int64_t> functions;  // "exp_nonpositive" -> calls
    // By tensor: the number of its elements that are accessed at least once.
    std::map<std::string, int64_t> read, written;
    // Returns the number of operations and function calls.
    int64_t operations() const;
};

// Returns the work of one variant, which may compute in a way of its own (Winograd). `op` is a new
// instance, whose algorithm() is called here. `dims` are the problem's dimensions, attributes, lets
// and derived scalars. `lanes` is for variants that arrange their stages in blocks of vectors.
// Throws ShapeError or AttrError if `dims` do not fit the op, and Error if a definition has bounds
// that depend on anything else.
Work work_of(Op &op, const Dims &dims, const std::string &variant, int lanes = 4);

// Returns the values of the variables in expressions over the op's scalars and dense tensors: the
// scalars by name, and x.min.0, x.extent.0 and x.stride.0 for each dimension of x, innermost first.
// Outputs have the names of their Funcs.
IntegerBindings bindings_of(const Op &op, const Dims &dims);

// Returns the work of the op's last variant, which computes every shape and is the plainest.
Work work_of(const OpTable &ops, const std::string &op, const Dims &dims);

}  // namespace halyard
