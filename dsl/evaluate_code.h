// Expressions as trees of small nodes, which dsl/evaluate.cpp evaluates.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "Halide.h"
#include "registry/base/error.h"

namespace halyard {

// Thrown for a definition with something that the evaluator does not support.
struct UnsupportedDefinition : Error {
    using Error::Error;
};

namespace evaluation {

// The value of a node, whose type is in the node. Integers are sign- or zero-extended to 64 bits;
// floats are held as doubles.
union Value {
    int64_t i = 0;
    double f;
};

enum class Kind : uint8_t {
    constant,
    slot,  // a variable of the definition, or of a let
    let,
    argument,  // a scalar, or the minimum, extent or stride of a tensor
    cast,
    reinterpret,
    add,
    sub,
    mul,
    div,
    mod,
    min,
    max,
    equal,
    less,
    logical_and,
    logical_or,
    logical_not,
    bit_and,
    bit_or,
    bit_xor,
    bit_not,
    shift_left,
    shift_right,
    absolute,
    difference,  // |a - b|
    floor,
    select,
    load,       // an element of an input
    read,       // an element of another Func
    read_self,  // an element of the Func that is defined
};

struct Node {
    Kind kind = Kind::constant;
    halide_type_t type, operand;   // the types of the result and of the first operand
    std::array<int, 3> args = {};  // the operands, as indices of Code::nodes
    // load, read, read_self: the indices of the element, each an index of Code::nodes.
    std::vector<int> indices;
    Value value;  // constant
    // slot, let: the number of the slot. argument, load, read: the number that Names returns.
    int target = 0;
    int component = 0;  // read, read_self: of a Tuple
};

// Resolves the names in a definition to numbers.
struct Names {
    std::map<std::string, int> slots;  // by variable
    // Return the number of a Func, of a scalar or "x.extent.0" or the like, and of an input tensor.
    std::function<int(const Halide::Internal::Call *)> func;
    std::function<int(const std::string &name, const Halide::Type &)> argument;
    std::function<int(const std::string &name)> input;
    // The Func that is defined; "" in its pure definition.
    std::string self;
};

// Code: the expressions of one definition, which share slots. The value of a let is computed when
// it is first needed.
class Code {
public:
    explicit Code(Names names) : names_(std::move(names)), slots_(int(names_.slots.size())) {}
    // Appends the nodes of `e`, and returns the index of its root. Throws UnsupportedDefinition.
    int add(const Halide::Expr &e);

    std::vector<Node> nodes;
    int slots() const { return slots_; }

private:
    // Each appends the nodes of an expression and returns the index of its root.
    int compile(const Halide::Expr &e);
    int compile_new(const Halide::Expr &e);
    int call(const Halide::Internal::Call *c);
    int intrinsic(const Halide::Internal::Call *c);
    int let(const Halide::Internal::Let *l);
    int variable(const Halide::Internal::Variable *v);
    template<class Op> int binary(Kind kind, const Halide::Expr &e);
    template<class Op> int swapped(Kind kind, const Halide::Expr &e);
    int negated(int condition);
    int constant(const Halide::Type &t, Value v);
    int append(Kind kind, const Halide::Type &t, const std::vector<Halide::Expr> &args);

    Names names_;
    int slots_;
    // Common subexpressions are one object, which is compiled once.
    std::map<const Halide::Internal::IRNode *, int> compiled_;
    std::vector<Halide::Expr> owned_;  // keeps the objects in compiled_
};

// Returns `v` wrapped or rounded to the range of `t`.
Value wrap(Value v, halide_type_t t);
// Returns the result of a node for two operands; unary ones ignore `b`.
Value apply(const Node &n, Value a, Value b);
// Returns the result of a cast.
Value convert(Value v, halide_type_t from, halide_type_t to);
// Reads and writes an element in memory.
Value load_value(const void *address, halide_type_t t);
void store_value(void *address, halide_type_t t, Value v);

}  // namespace evaluation
}  // namespace halyard
