// Signature: the shape contract of an operator, as one line of text.
//
//   x[n,c,h,w] f[o,c/groups,u,v] -> y[n,o,oh,ow]        labels:i32[n]        x:T[*] -> y:bool[*]
//   x[..n,c] -> y[..n,c]
//
// Inputs stand before the arrow. [] lists extents outermost first. A name among the extents of an
// input binds that dimension; every other extent is an expression (registry/op/expr.h) over bound
// names and attributes.
//   :dtype   after the name: a concrete dtype, or a type variable, which is a capital letter. The
//            default is the variable T.
//   [*]      any rank, elementwise: such inputs are broadcast against each other, and such outputs
//            have the broadcast shape.
//   ..n      first in the list: any number of leading dimensions. n is their product; ..n of an
//            output repeats them.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "registry/base/named.h"
#include "registry/op/expr.h"
#include "registry/tensor/shape.h"

namespace halyard {

using Dims = Named<int64_t>;  // dimension or attribute name -> value

struct TensorSpec {
    std::string name, dtype = "T";
    bool any_rank = false;             // [*]
    std::string group;                 // the n of a leading ..n, or ""
    std::vector<std::string> extents;  // without the group; empty for [*]
};

// Returns true for T, U, ...: a capital letter that stands for any dtype of the op.
bool is_type_variable(const std::string &dtype);

class Signature {
public:
    Signature() = default;
    // Throws AttrError with the position of a syntax error.
    Signature(const std::string &op_name, const std::string &text);

    std::string op, text;
    std::vector<TensorSpec> inputs, outputs;
    // The dimensions that the inputs bind, groups included, in the order of binding.
    std::vector<std::string> names;

    // Returns true if this op is the gradient of an op with the signature `forward`: its name is
    // <forward>_d<input>. "expand_dims" is not a gradient of "expand".
    bool differentiates(const Signature &forward) const;
};

// Returns the value of an expression. Throws AttrError on an unknown name, ShapeError on overflow
// and division by zero. `op` stands in front of errors.
int64_t value_of(const std::string &op, const ParsedExpr &expression, const Dims &dims);
int64_t value_of(const std::string &op, const std::string &expression, const Dims &dims);

// Returns the op that a gradient op differentiates: "softmax" for "softmax_dx". Returns "" if the
// name has no such form.
std::string forward_name(const std::string &op);

// Parses "n=3 c=7". Throws AttrError on a syntax error, and if a name occurs twice.
Dims parse_dims(const std::string &text);

// Returns true if every word of "m>=8 n>=tile_j*lanes", an expression without blanks, is not 0.
// Else `why` names the first that is: "n>=tile_j*lanes: n is 37, tile_j*lanes is 48". Throws
// AttrError on unknown names and syntax errors.
bool holds(const std::string &conditions, const Dims &dims, std::string *why = nullptr);

}  // namespace halyard
