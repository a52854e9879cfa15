// Signature: the shape contract of an operator, as one line of text.
//
//   x[n,c,h,w] f[o,c/groups,u,v] -> y[n,o,oh,ow]        labels:i32[n]        x:T[*] -> y:bool[*]
//   x[..n,c] -> y[..n,c]
//
// [] lists extents outermost first, as callers see them; inputs stand before the arrow. A bare name
// among the inputs binds that dimension; every other place is an expression (registry/op/expr.h)
// over bound names and attributes.
//   :dtype   after the name: a concrete dtype, or a type variable, which starts with a capital
//   letter. None means the variable T.
//   [*]      any rank, elementwise: such inputs broadcast against each other, and such outputs have
//   the broadcast shape
//   ..n      first in the list: any number of leading dimensions; n is their product, an output's
//   ..n repeats them
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "registry/op/expr.h"
#include "registry/tensor/shape.h"

namespace halyard {

using Dims = std::map<std::string, int64_t>;  // dimension or attribute name -> value

struct TensorSpec {
    std::string name, dtype = "T";
    bool any_rank = false;             // [*]
    std::string group;                 // n of a leading ..n, or ""
    std::vector<std::string> extents;  // without * and without the group
};

// Returns true for T, U, ...: a capital letter that stands for any dtype of the op.
bool is_type_variable(const std::string &dtype);

class Signature {
public:
    Signature() = default;
    // Throws AttrError with the position of what doesn't parse.
    Signature(const std::string &op_name, const std::string &text);

    std::string op, text;
    std::vector<TensorSpec> inputs, outputs;
    // dimensions the inputs bind, in order of first binding; groups included
    std::vector<std::string> names;

    // Shapes of the outputs. `known` holds attributes, and dimensions known beforehand. Throws
    // ShapeError such as
    //   [matmul] b.k is 4, expected 3 from a[2,3]      [conv2d] x has rank 3, expected 4 (n,c,h,w)
    // and AttrError when an expression needs a name that nobody gave.
    std::vector<Shape> infer(const std::vector<Shape> &in, const Dims &known = {}) const;
    // The same, and afterwards `dims` holds every bound dimension as well.
    std::vector<Shape> infer_into(const std::vector<Shape> &in, Dims &dims) const;

    // Is this op, called <forward>_d<input>, the gradient of an op with that signature?
    // "expand_dims" isn't one of "expand".
    bool differentiates(const Signature &forward) const;

    // The shape of a tensor without * once all names are known; a group is one dimension.
    Shape shape(const TensorSpec &spec, const Dims &dims) const;
};

// The shape rules that Signature::infer and the planning of calls share. `op` stands in front of
// errors.

// Throws ShapeError unless t may have this rank: "a has rank 1, expected at least 2 (..g,m,k)".
void check_rank(const std::string &op, const TensorSpec &t, int rank);

// Returns the value of an expression. Throws AttrError on an unknown name, ShapeError on overflow
// and division by zero.
int64_t value_of(const std::string &op, const std::string &expression, const Dims &dims);

// Returns the values of t's extents, without its group. Throws ShapeError when one is negative.
Shape extents_of(const std::string &op, const TensorSpec &t, const Dims &dims);

// Throws the ShapeError "b.k is 4, expected 3<reason>".
[[noreturn]] void refuse_extent(const std::string &op, const std::string &tensor,
                                const std::string &extent, int64_t got, int64_t expected,
                                const std::string &reason);

// "softmax" of "softmax_dx": what an op differentiates if it is a gradient op; "" where its name
// can't be one's.
std::string forward_name(const std::string &op);

// "n=3 c=7". Throws AttrError on anything else, and on a name given twice.
Dims parse_dims(const std::string &text);

// "m>=8 n>=tile_j*lanes": is every word, an expression without blanks, other than 0? If not, `why`
// names the first that isn't: "n>=tile_j*lanes: n is 37, tile_j*lanes is 48". Throws AttrError on
// unknown names and bad text.
bool holds(const std::string &conditions, const Dims &dims, std::string *why = nullptr);

}  // namespace halyard
